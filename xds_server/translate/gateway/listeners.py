"""From gateways that share a socket to one listener: for HTTPS a filter chain for each gateway, told apart by SNI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from envoy.config.core.v3.base_pb2 import TransportSocket
from envoy.config.listener.v3.listener_components_pb2 import FilterChain
from envoy.config.listener.v3.listener_pb2 import Listener
from envoy.extensions.filters.listener.tls_inspector.v3.tls_inspector_pb2 import TlsInspector
from envoy.extensions.transport_sockets.tls.v3.tls_pb2 import DownstreamTlsContext

from xds_server.ir.gateway import GatewayKey, SecretKey
from xds_server.ir.origin import Origin
from xds_server.ir.refs import NO_NAMES, Refs
from xds_server.translate.gateway.connections import connection_manager
from xds_server.translate.gateway.names import secret_name
from xds_server.translate.gateway.sources import over_ads
from xds_server.wire.resource import Resource
from xds_server.wire.types import LISTENER

_EVERY_HOST = "*"
_PROTOCOLS = ("h2", "http/1.1")
_TLS = "envoy.transport_sockets.tls"
_INSPECTOR = "envoy.filters.listener.tls_inspector"


@dataclass(frozen=True, slots=True)
class Chain:
    """What one gateway has on an HTTPS listener: its certificate, and the hosts that are its own there, sorted."""

    gateway: GatewayKey
    secret: SecretKey
    hosts: tuple[str, ...]


def http_listener(name: str, address: str, port: int, origins: tuple[Origin, ...]) -> Resource:
    """The listener of gateways that take plain HTTP."""
    message = _listener(name, address, port)
    message.filter_chains.add(filters=[connection_manager(name)])
    return _resource(message, origins, NO_NAMES)


def https_listener(
    name: str, address: str, port: int, chains: Sequence[Chain], origins: tuple[Origin, ...]
) -> Resource:
    """The listener of gateways that take HTTPS. Whose host is `*` also gets the connections that name no other."""
    message = _listener(name, address, port)
    inspector = message.listener_filters.add(name=_INSPECTOR)
    inspector.typed_config.Pack(TlsInspector(), deterministic=True)
    for chain in chains:
        names = [host for host in chain.hosts if host != _EVERY_HOST]
        if names:
            made = _filter_chain(name, chain, str(chain.gateway))
            made.filter_chain_match.server_names.extend(names)
            message.filter_chains.append(made)
        if len(names) < len(chain.hosts):
            message.default_filter_chain.CopyFrom(_filter_chain(name, chain, f"{chain.gateway}/{_EVERY_HOST}"))
    return _resource(message, origins, frozenset(secret_name(chain.secret) for chain in chains))


def _listener(name: str, address: str, port: int) -> Listener:
    message = Listener(name=name)
    message.address.socket_address.address = address
    message.address.socket_address.port_value = port
    return message


def _filter_chain(name: str, chain: Chain, chain_name: str) -> FilterChain:
    context = DownstreamTlsContext()
    context.common_tls_context.alpn_protocols.extend(_PROTOCOLS)
    reference = context.common_tls_context.tls_certificate_sds_secret_configs.add(name=secret_name(chain.secret))
    reference.sds_config.CopyFrom(over_ads())
    transport = TransportSocket(name=_TLS)
    transport.typed_config.Pack(context, deterministic=True)
    return FilterChain(name=chain_name, filters=[connection_manager(name)], transport_socket=transport)


def _resource(message: Listener, origins: tuple[Origin, ...], secrets: frozenset[str]) -> Resource:
    refs = Refs(routes=frozenset({message.name}), secrets=secrets)
    return Resource(message.name, LISTENER, message.SerializeToString(deterministic=True), refs, origins)

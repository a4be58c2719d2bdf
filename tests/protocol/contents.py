"""Contents: what the random world declares, as resources for the server, and as a client reads them back.

Both directions go through Envoy's own messages, so a client learns what refers to what from the bytes alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2, tls_pb2

from xds_server.ir.refs import NO_REFS, Refs
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET

TYPES = (CLUSTER, ENDPOINT, SECRET, LISTENER, ROUTE)
BAD = "bad"
"""The word by which a client knows a content that it refuses."""


@dataclass(frozen=True)
class Declared:
    """One declared resource; `content` tells its contents apart, a `bad` one is refused by every client."""

    type_url: str
    name: str
    content: int = 0
    refs: Refs = NO_REFS
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Content:
    """A resource as a client reads it: its bytes are its identity."""

    name: str
    body: bytes
    bad: bool
    refs: Refs


@cache
def resource_of(declared: Declared) -> Resource:
    """The resource that the server is given; one object per content, as in a real server."""
    message = _BUILD[declared.type_url](declared)
    return Resource(declared.name, declared.type_url, message.SerializeToString(deterministic=True), declared.refs)


@cache
def read(type_url: str, body: bytes) -> Content:
    """What a client finds in the bytes of a resource."""
    return _READ[type_url](body)


def _cluster(declared: Declared) -> cluster_pb2.Cluster:
    message = cluster_pb2.Cluster(name=declared.name, alt_stat_name=BAD if declared.bad else "")
    message.connect_timeout.nanos = declared.content + 1
    for assignment in declared.refs.assignments:
        message.type = cluster_pb2.Cluster.EDS
        message.eds_cluster_config.service_name = assignment
        message.eds_cluster_config.eds_config.ads.SetInParent()
    for secret in sorted(declared.refs.secrets):
        context = tls_pb2.UpstreamTlsContext()
        context.common_tls_context.tls_certificate_sds_secret_configs.add(name=secret).sds_config.ads.SetInParent()
        message.transport_socket.typed_config.Pack(context)
    return message


def _endpoints(declared: Declared) -> endpoint_pb2.ClusterLoadAssignment:
    message = endpoint_pb2.ClusterLoadAssignment(cluster_name=declared.name)
    endpoint = message.endpoints.add().lb_endpoints.add().endpoint
    endpoint.address.socket_address.port_value = 1000 + declared.content
    endpoint.hostname = BAD if declared.bad else ""
    return message


def _listener(declared: Declared) -> listener_pb2.Listener:
    message = listener_pb2.Listener(name=declared.name, stat_prefix=BAD if declared.bad else "")
    chain = message.filter_chains.add()
    manager = http_connection_manager_pb2.HttpConnectionManager(stat_prefix=f"v{declared.content}")
    for route in declared.refs.routes:
        manager.rds.route_config_name = route
        manager.rds.config_source.ads.SetInParent()
    for cluster in sorted(declared.refs.clusters):
        manager.route_config.virtual_hosts.add(name=cluster).routes.add().route.cluster = cluster
    chain.filters.add(name="http").typed_config.Pack(manager)
    for secret in sorted(declared.refs.secrets):
        context = tls_pb2.DownstreamTlsContext()
        context.common_tls_context.tls_certificate_sds_secret_configs.add(name=secret).sds_config.ads.SetInParent()
        chain.transport_socket.typed_config.Pack(context)
    return message


def _route(declared: Declared) -> route_pb2.RouteConfiguration:
    message = route_pb2.RouteConfiguration(name=declared.name)
    host = message.virtual_hosts.add(name=BAD if declared.bad else f"v{declared.content}")
    for cluster in sorted(declared.refs.clusters):
        host.routes.add().route.cluster = cluster
    return message


def _secret(declared: Declared) -> secret_pb2.Secret:
    message = secret_pb2.Secret(name=declared.name)
    message.generic_secret.secret.inline_string = BAD if declared.bad else f"v{declared.content}"
    return message


def _read_cluster(body: bytes) -> Content:
    message = cluster_pb2.Cluster.FromString(body)
    names = [message.eds_cluster_config.service_name] if message.type == cluster_pb2.Cluster.EDS else []
    refs = Refs(assignments=frozenset(names), secrets=_secrets_of(message, tls_pb2.UpstreamTlsContext()))
    return Content(message.name, body, message.alt_stat_name == BAD, refs)


def _read_endpoints(body: bytes) -> Content:
    message = endpoint_pb2.ClusterLoadAssignment.FromString(body)
    bad = any(each.endpoint.hostname == BAD for group in message.endpoints for each in group.lb_endpoints)
    return Content(message.cluster_name, body, bad, NO_REFS)


def _read_listener(body: bytes) -> Content:
    message = listener_pb2.Listener.FromString(body)
    chain = message.filter_chains[0]
    manager = http_connection_manager_pb2.HttpConnectionManager()
    chain.filters[0].typed_config.Unpack(manager)
    refs = Refs(
        clusters=_clusters_of(manager.route_config),
        routes=frozenset(filter(None, [manager.rds.route_config_name])),
        secrets=_secrets_of(chain, tls_pb2.DownstreamTlsContext()),
    )
    return Content(message.name, body, message.stat_prefix == BAD, refs)


def _read_route(body: bytes) -> Content:
    message = route_pb2.RouteConfiguration.FromString(body)
    bad = any(host.name == BAD for host in message.virtual_hosts)
    return Content(message.name, body, bad, Refs(clusters=_clusters_of(message)))


def _read_secret(body: bytes) -> Content:
    message = secret_pb2.Secret.FromString(body)
    return Content(message.name, body, message.generic_secret.secret.inline_string == BAD, NO_REFS)


def _clusters_of(config: Any) -> frozenset[str]:
    return frozenset(route.route.cluster for host in config.virtual_hosts for route in host.routes)


def _secrets_of(message: Any, context: Any) -> frozenset[str]:
    message.transport_socket.typed_config.Unpack(context)
    return frozenset(each.name for each in context.common_tls_context.tls_certificate_sds_secret_configs)


_BUILD = {CLUSTER: _cluster, ENDPOINT: _endpoints, LISTENER: _listener, ROUTE: _route, SECRET: _secret}
_READ = {
    CLUSTER: _read_cluster,
    ENDPOINT: _read_endpoints,
    LISTENER: _read_listener,
    ROUTE: _read_route,
    SECRET: _read_secret,
}

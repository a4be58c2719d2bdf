"""Listeners and clusters made for resources that nothing given uses, so that Envoy looks at them too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any as Anything

from google.protobuf.message import Message

from xds_server.translate.protos import class_of, full_name
from xds_server.wire.types import CLUSTER, LISTENER

MADE = "tidegate-check"
"""How the names of what is made begin."""

_EXTENSIONS = "envoy.extensions."
_HCM = f"{_EXTENSIONS}filters.network.http_connection_manager.v3.HttpConnectionManager"
_ROUTER = f"{_EXTENSIONS}filters.http.router.v3.Router"
_TLS = f"{_EXTENSIONS}transport_sockets.tls.v3.UpstreamTlsContext"


def of_routes(message: Anything) -> Iterator[Anything]:
    """A listener for a route configuration."""
    manager = _manager()
    manager.route_config.CopyFrom(message)
    as_by_rds(manager.route_config)
    yield _listener(f"{MADE}/rds/{message.name}", manager)


def of_scope(message: Anything) -> Iterator[Anything]:
    """A listener for one scope; its key is taken from a header of as many parts as the key has."""
    manager = _manager()
    scopes = manager.scoped_routes
    scopes.name = MADE
    for _ in message.key.fragments:
        extractor = scopes.scope_key_builder.fragments.add().header_value_extractor
        extractor.name, extractor.index = "x-scope", 0
    scopes.scoped_route_configurations_list.scoped_route_configurations.append(message)
    scopes.rds_config_source.ads.SetInParent()
    yield _listener(f"{MADE}/srds/{message.name}", manager)


def of_assignment(message: Anything) -> Iterator[Anything]:
    """A cluster for a load assignment."""
    cluster = empty_cluster(f"{MADE}/eds/{message.cluster_name}")
    cluster.load_assignment.endpoints.extend(message.endpoints)
    cluster.load_assignment.policy.CopyFrom(message.policy)
    yield cluster


def of_secret(message: Anything) -> Iterator[Anything]:
    """A cluster with TLS by a certificate or a validation context; none for other secrets."""
    kind = message.WhichOneof("type")
    if kind not in ("tls_certificate", "validation_context"):
        return
    tls = new(_TLS)
    common = tls.common_tls_context
    is_pair = kind == "tls_certificate"
    config = common.tls_certificate_sds_secret_configs.add() if is_pair else common.validation_context_sds_secret_config
    config.name = message.name
    config.sds_config.ads.SetInParent()
    cluster = empty_cluster(f"{MADE}/sds/{message.name}")
    cluster.transport_socket.name = "envoy.transport_sockets.tls"
    cluster.transport_socket.typed_config.Pack(tls)
    yield cluster


def empty_cluster(name: str) -> Anything:
    """A static cluster without endpoints."""
    cluster = new(full_name(CLUSTER))
    cluster.name = cluster.load_assignment.cluster_name = name
    return cluster


def as_by_rds(routes: Anything) -> None:
    """Have a route configuration behave as one that comes by RDS: names of clusters are not looked up."""
    if not routes.HasField("validate_clusters"):
        routes.validate_clusters.value = False


def new(name: str) -> Anything:
    """An empty message of Envoy's API by its full name."""
    cls: type[Message] | None = class_of(name)
    if cls is None:
        raise LookupError(f"xds-protos has no {name}")
    return cls()


def _manager() -> Anything:
    manager = new(_HCM)
    manager.stat_prefix = MADE
    manager.http_filters.add(name="envoy.filters.http.router").typed_config.Pack(new(_ROUTER))
    return manager


def _listener(name: str, manager: Anything) -> Anything:
    listener = new(full_name(LISTENER))
    listener.name = name
    listener.address.pipe.path = f"@{name}"  # nothing is bound in this mode, and no other listener has it
    listener.filter_chains.add().filters.add(name="hcm").typed_config.Pack(manager)
    return listener

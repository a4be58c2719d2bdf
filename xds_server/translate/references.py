"""Which other resources a message names: one walk over the fields that are set, and a table of rules by type.

A cluster counts as needed from this control plane only where requests and connections are routed to it: route
actions, mirror policies, TCP and UDP proxies, aggregate clusters. The clusters of services that Envoy itself calls
(`envoy_grpc.cluster_name`, `http_uri.cluster`, tracers, …) and of filters with tables of their own (Redis, Thrift,
cluster specifier plug-ins) do not: they are as a rule static ones of the bootstrap, which nothing here can know.
What a `ClusterLoadAssignment` holds refers to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any as Anything

from google.protobuf.message import DecodeError, Message

from xds_server.ir.refs import NO_NAMES, NO_REFS, Refs
from xds_server.translate.protos import ANY, children, class_of, full_name
from xds_server.translate.reach import Reach


class _Found:
    """The names gathered during one walk."""

    __slots__ = ("assignments", "clusters", "routes", "secrets")

    def __init__(self) -> None:
        self.clusters: set[str] = set()
        self.assignments: set[str] = set()
        self.routes: set[str] = set()
        self.secrets: set[str] = set()

    def refs(self) -> Refs:
        names = (self.clusters, self.assignments, self.routes, self.secrets)
        for each in names:
            each.discard("")
        return Refs(*(frozenset(each) or NO_NAMES for each in names)) if any(names) else NO_REFS


def refs_of(message: Message) -> Refs:
    """The names that a message needs from this control plane (over ADS or `self`)."""
    found = _Found()
    if message.DESCRIPTOR.full_name == _SCOPE:
        # Served alone it says nothing of where its routes come from; inside a listener that does (`_scoped_routes`).
        found.routes.add(message.route_configuration_name)  # type: ignore[attr-defined]
    _walk(message, found)
    return found.refs()


def _walk(message: Message, found: _Found) -> None:
    descriptor = message.DESCRIPTOR
    if descriptor.full_name == ANY:
        _walk_any(message, found)
        return
    rule = _RULES.get(descriptor.full_name)
    if rule is not None:
        rule(message, found)
    wanted = _reach().fields(descriptor)
    if not wanted:
        return
    for field, value in message.ListFields():
        if field.number in wanted:
            for each in children(field, value):
                _walk(each, found)


def _walk_any(message: Anything, found: _Found) -> None:
    cls = class_of(full_name(message.type_url))
    if cls is None or not _reach().reaches(cls.DESCRIPTOR):
        return
    try:
        inner = cls.FromString(message.value)
    except DecodeError:
        return
    _walk(inner, found)


@cache
def _reach() -> Reach:
    return Reach(lambda each: each.full_name == ANY or each.full_name in _RULES, _CLOSED)


def is_ours(source: Anything) -> bool:
    """Whether a config source is this control plane: the ADS stream, or the one that the asking resource came by."""
    return source.WhichOneof("config_source_specifier") in {"ads", "self"}


def _cluster(message: Anything, found: _Found) -> None:
    if message.WhichOneof("cluster_discovery_type") == "type" and message.type == message.EDS:
        eds = message.eds_cluster_config
        if is_ours(eds.eds_config):
            found.assignments.add(eds.service_name or message.name)


def _aggregate(message: Anything, found: _Found) -> None:
    found.clusters.update(message.clusters)


def _by_cluster(message: Anything, found: _Found) -> None:
    found.clusters.add(message.cluster)


def _by_name(message: Anything, found: _Found) -> None:
    found.clusters.add(message.name)


def _rds(message: Anything, found: _Found) -> None:
    if is_ours(message.config_source):
        found.routes.add(message.route_config_name)


def _scoped_routes(message: Anything, found: _Found) -> None:
    if is_ours(message.rds_config_source):
        scopes = message.scoped_route_configurations_list.scoped_route_configurations
        found.routes.update(scope.route_configuration_name for scope in scopes)


def _sds(message: Anything, found: _Found) -> None:
    # Without a source it names a static secret of the bootstrap.
    if is_ours(message.sds_config):
        found.secrets.add(message.name)


_SCOPE = "envoy.config.route.v3.ScopedRouteConfiguration"
_HCM = "envoy.extensions.filters.network.http_connection_manager.v3."
_TCP = "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"
_UDP = "envoy.extensions.filters.udp.udp_proxy.v3."

_RULES: dict[str, Callable[[Anything, _Found], None]] = {
    "envoy.config.cluster.v3.Cluster": _cluster,
    "envoy.extensions.clusters.aggregate.v3.ClusterConfig": _aggregate,
    "envoy.config.route.v3.RouteAction": _by_cluster,
    "envoy.config.route.v3.RouteAction.RequestMirrorPolicy": _by_cluster,
    "envoy.config.route.v3.WeightedCluster.ClusterWeight": _by_name,
    _TCP: _by_cluster,
    f"{_TCP}.WeightedCluster.ClusterWeight": _by_name,
    f"{_UDP}UdpProxyConfig": _by_cluster,
    f"{_UDP}Route": _by_cluster,
    f"{_HCM}Rds": _rds,
    f"{_HCM}ScopedRoutes": _scoped_routes,
    "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig": _sds,
}

_CLOSED = frozenset({"envoy.config.endpoint.v3.ClusterLoadAssignment"})

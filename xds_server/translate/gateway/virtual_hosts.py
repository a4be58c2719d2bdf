"""From routes to virtual hosts to route configurations: each is joined from the bytes of what it is made of.

The fields of a message may be written one after the other, so a route that changes has its own bytes made anew, and
those of the others are copied. What is joined equals a whole serialization.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from envoy.config.route.v3.route_components_pb2 import VirtualHost
from envoy.config.route.v3.route_pb2 import RouteConfiguration

from xds_server.ir.origin import Origin
from xds_server.ir.refs import NO_NAMES, Refs
from xds_server.translate.gateway.filters import local_ratelimit
from xds_server.translate.gateway.filters.local_ratelimit import Limit
from xds_server.translate.gateway.names import METADATA
from xds_server.translate.gateway.routes import RoutePart
from xds_server.wire.encode import field, text
from xds_server.wire.resource import Resource
from xds_server.wire.types import ROUTE

_VIRTUAL_HOST_ROUTES = VirtualHost.ROUTES_FIELD_NUMBER
_VIRTUAL_HOSTS = RouteConfiguration.VIRTUAL_HOSTS_FIELD_NUMBER
_NAME = RouteConfiguration.NAME_FIELD_NUMBER

_FLEET = "fleet"
"""Where the metadata of a route configuration has among how many Envoys its limits are shared."""


@dataclass(frozen=True, slots=True)
class HostPart:
    """A virtual host as the bytes of Envoy's `VirtualHost`, the clusters that it refers to, and its routes' limits."""

    body: bytes
    clusters: frozenset[str]
    limits: tuple[Limit, ...]


def host_part(host: str, routes: Iterable[RoutePart]) -> HostPart:
    """The virtual host of a host, with its routes in the order that they are given."""
    head = VirtualHost(name=host, domains=[host]).SerializeToString(deterministic=True)
    parts = tuple(routes)
    body = head + b"".join(field(_VIRTUAL_HOST_ROUTES, part.body) for part in parts)
    limits = tuple(part.limit for part in parts if part.limit is not None)
    return HostPart(body, _union(part.clusters for part in parts), limits)


def route_configuration(
    name: str, hosts: Sequence[HostPart], origins: tuple[Origin, ...], fleet: Callable[[], int] = lambda: 1
) -> Resource:
    """A route configuration of virtual hosts, in the order that they are given.

    `fleet` is asked, where a route has a limit, how many Envoys share it. A port in the `Host` of a request says nothing,
    and the backend gets it as it came.
    """
    limits = {limit.route: limit for host in hosts for limit in host.limits}
    tail = _tail(limits.values(), fleet() if limits else None)
    body = b"".join([text(_NAME, name), *(field(_VIRTUAL_HOSTS, host.body) for host in hosts), tail])
    return Resource(name, ROUTE, body, Refs(clusters=_union(host.clusters for host in hosts)), origins)


def fleet_of(resource: Resource) -> int | None:
    """How many Envoys share the limits of a route configuration that was made here; None where there are no limits.

    Raises:
        google.protobuf.message.DecodeError: The bytes are of another type.
    """
    metadata = RouteConfiguration.FromString(resource.body).metadata.filter_metadata
    value = metadata[METADATA].fields[_FLEET].number_value if METADATA in metadata else 0
    return int(value) or None


def _tail(limits: Iterable[Limit], fleet: int | None) -> bytes:
    """The fields after the virtual hosts."""
    made = RouteConfiguration(ignore_port_in_host_matching=True)
    if fleet is not None:
        made.typed_per_filter_config[local_ratelimit.NAME].CopyFrom(
            local_ratelimit.in_route_configuration(limits, fleet)
        )
        made.metadata.filter_metadata[METADATA].update({_FLEET: fleet})
    tail: bytes = made.SerializeToString(deterministic=True)
    return tail


def _union(names: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*names) or NO_NAMES

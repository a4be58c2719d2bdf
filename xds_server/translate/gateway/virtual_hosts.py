"""From routes to virtual hosts to route configurations: each is joined from the bytes of what it is made of.

The fields of a message may be written one after the other, so a route that changes has its own bytes made anew, and
those of the others are copied. What is joined equals a whole serialization.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from envoy.config.route.v3.route_components_pb2 import VirtualHost
from envoy.config.route.v3.route_pb2 import RouteConfiguration

from xds_server.ir.origin import Origin
from xds_server.ir.refs import NO_NAMES, Refs
from xds_server.translate.gateway.routes import RoutePart
from xds_server.wire.encode import field, text
from xds_server.wire.resource import Resource
from xds_server.wire.types import ROUTE

_VIRTUAL_HOST_ROUTES = VirtualHost.ROUTES_FIELD_NUMBER
_VIRTUAL_HOSTS = RouteConfiguration.VIRTUAL_HOSTS_FIELD_NUMBER
_NAME = RouteConfiguration.NAME_FIELD_NUMBER


@dataclass(frozen=True, slots=True)
class HostPart:
    """A virtual host as the bytes of Envoy's `VirtualHost`, and the clusters that it refers to."""

    body: bytes
    clusters: frozenset[str]


def host_part(host: str, routes: Iterable[RoutePart]) -> HostPart:
    """The virtual host of a host, with its routes in the order that they are given."""
    head = VirtualHost(name=host, domains=[host]).SerializeToString(deterministic=True)
    parts = tuple(routes)
    body = head + b"".join(field(_VIRTUAL_HOST_ROUTES, part.body) for part in parts)
    return HostPart(body, _union(part.clusters for part in parts))


def route_configuration(name: str, hosts: Sequence[HostPart], origins: tuple[Origin, ...]) -> Resource:
    """A route configuration of virtual hosts, in the order that they are given.

    A port in the `Host` of a request says nothing, and the backend gets it as it came.
    """
    tail = RouteConfiguration(ignore_port_in_host_matching=True).SerializeToString(deterministic=True)
    body = b"".join([text(_NAME, name), *(field(_VIRTUAL_HOSTS, host.body) for host in hosts), tail])
    return Resource(name, ROUTE, body, Refs(clusters=_union(host.clusters for host in hosts)), origins)


def _union(names: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*names) or NO_NAMES

"""The resources of gateways, as collections: what changes is made anew, and what is the same stays the same object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from xds_server.derive.collection import Collection, Read
from xds_server.derive.engine import Engine
from xds_server.derive.facts import Facts
from xds_server.derive.model import Model
from xds_server.ir.backend import BackendKey, Locality
from xds_server.ir.decision import Choice
from xds_server.ir.facts import RouteKey
from xds_server.ir.gateway import GatewayKey, Protocol, SecretKey
from xds_server.ir.origin import Origin
from xds_server.translate.derived import ResourceKey
from xds_server.translate.gateway.claims import Claims, HostKey, SocketUse
from xds_server.translate.gateway.clusters import cluster
from xds_server.translate.gateway.decided import BackendState, Decided, Served
from xds_server.translate.gateway.endpoints import assignment
from xds_server.translate.gateway.listeners import Chain, http_listener, https_listener
from xds_server.translate.gateway.names import Socket, listener_name
from xds_server.translate.gateway.routes import RoutePart, route_part
from xds_server.translate.gateway.secrets import secret
from xds_server.translate.gateway.virtual_hosts import HostPart, host_part, route_configuration
from xds_server.wire.resource import Resource

Made = dict[ResourceKey, Resource]


class _BackendUse(NamedTuple):
    """A route that names a backend, or leads there."""

    group: str
    backend: BackendKey
    route: RouteKey


class _Use(NamedTuple):
    """The gateway of a route that uses a backend, and whether the route wants the endpoints that are remembered."""

    gateway: GatewayKey
    origin: Origin
    is_fail_open: bool


class _SecretUse(NamedTuple):
    """A listener that names a secret."""

    group: str
    secret: SecretKey
    socket: Socket
    gateway: GatewayKey


@dataclass(frozen=True, slots=True)
class Work:
    """What resources are made of."""

    engine: Engine
    model: Model
    facts: Facts
    claims: Claims
    decided: Decided


def same(one: Resource, other: Resource) -> bool:
    """Whether two resources of one name have equal content and origins."""
    return one.version == other.version and one.origins == other.origins


def route_parts(work: Work) -> Collection[RouteKey, RoutePart]:
    """Each served route as decided, in Envoy's form."""

    def make(read: Read, key: RouteKey, served: Served) -> RoutePart | None:
        decision = read(work.decided.decisions, key)
        listeners = len({key.socket for key in served.hosts})
        return None if decision is None else route_part(served.route, decision, listeners)

    return work.engine.each("route parts", work.decided.served, make)


def route_configurations(work: Work, parts: Collection[RouteKey, RoutePart]) -> Collection[ResourceKey, Resource]:
    """One for each socket in use, without a virtual host too: a listener waits for it."""
    routes = work.engine.index("routes by host", work.decided.served, lambda _, served: served.hosts)

    def make_host(read: Read, key: HostKey, members: tuple[RouteKey, ...]) -> HostPart:
        found = [part for member in members if (part := read(parts, member)) is not None]
        return host_part(key.host, sorted(found, key=lambda part: part.precedence))

    hosts = work.engine.each("virtual hosts", routes, make_host)
    by_socket = work.engine.index("virtual hosts by socket", hosts, lambda key, _: (key.socket,))

    def make(read: Read, socket: Socket, use: SocketUse) -> Made:
        members = read(by_socket, socket) or ()
        found = [part for member in members if (part := read(hosts, member)) is not None]
        origins = tuple(attached.origin for _, attached in use.kept)
        name = listener_name(use.protocol, socket)
        made = route_configuration(name, found, origins, lambda: read(work.facts.fleets, socket.group) or 1)
        return _keyed(socket.group, made)

    return work.engine.many("route configurations", work.claims.sockets, make, same)


def listeners(work: Work) -> Collection[ResourceKey, Resource]:
    """One for each socket in use, as far as there is something to take connections with."""
    certified = work.engine.each("certified", work.model.certificates, lambda _read, _key, _value: True)
    by_gateway = work.engine.index(
        "hosts by gateway", work.claims.hosts, lambda key, owner: ((key.socket, owner.gateway),)
    )

    def chains(read: Read, socket: Socket, use: SocketUse) -> tuple[list[Chain], tuple[Origin, ...]]:
        found, origins = [], []
        for place, attached in use.kept:
            wanted = attached.listener.secret
            hosts = tuple(key.host for key in read(by_gateway, (socket, place.gateway)) or ())
            is_certified = None if wanted is None else read(certified, wanted)
            if wanted is not None and hosts and is_certified:
                found.append(Chain(place.gateway, wanted, hosts))
                origins.append(attached.origin)
        return found, tuple(origins)

    def make(read: Read, socket: Socket, use: SocketUse) -> Made:
        name = listener_name(use.protocol, socket)
        if use.protocol is Protocol.HTTP:
            origins = tuple(attached.origin for _, attached in use.kept)
            return _keyed(socket.group, http_listener(name, use.address, use.port, origins))
        found, origins = chains(read, socket, use)
        return _keyed(socket.group, https_listener(name, use.address, use.port, found, origins)) if found else {}

    return work.engine.many("listeners", work.claims.sockets, make, same)


def secrets(work: Work) -> Collection[ResourceKey, Resource]:
    """Each certificate that a listener names, in each group."""

    def uses(_: Read, socket: Socket, use: SocketUse) -> dict[_SecretUse, bool]:
        wanted = [(place, attached.listener.secret) for place, attached in use.kept]
        return {
            _SecretUse(socket.group, each, socket, place.gateway): True for place, each in wanted if each is not None
        }

    used = work.engine.many("uses of secrets", work.claims.sockets, uses)
    by_secret = work.engine.index("uses by secret", used, lambda use, _: ((use.group, use.secret),))

    def make(read: Read, key: tuple[str, SecretKey], _: tuple[_SecretUse, ...]) -> Made:
        certificate = read(work.model.certificates, key[1])
        return {} if certificate is None else _keyed(key[0], secret(certificate))

    return work.engine.many("secrets", by_secret, make, same)


def backends(work: Work) -> tuple[Collection[ResourceKey, Resource], Collection[ResourceKey, Resource]]:
    """Clusters and assignments of all that served routes name or lead to, in each group."""
    used = work.engine.many("uses of backends", work.decided.served, _uses(work))
    by_backend = work.engine.index("uses by backend", used, lambda use, _: ((use.group, use.backend),))

    def gateways(read: Read, uses: tuple[_BackendUse, ...]) -> tuple[Origin, ...]:
        return tuple({found.gateway: found.origin for use in uses if (found := read(used, use)) is not None}.values())

    def make_cluster(read: Read, key: tuple[str, BackendKey], uses: tuple[_BackendUse, ...]) -> Made:
        state = read(work.decided.states, key[1]) or BackendState(is_healthy=False, http2=False, services=())
        return _keyed(key[0], cluster(key[1], (*gateways(read, uses), *state.services), http2=state.http2))

    def make_assignment(read: Read, key: tuple[str, BackendKey], uses: tuple[_BackendUse, ...]) -> Made:
        backend = read(work.model.backends, key[1])
        localities: tuple[Locality, ...] = () if backend is None else backend.localities
        # Envoy is told of endpoints before it is told of routes, so these have a while to lead elsewhere.
        if not localities and (
            not read(work.facts.drained, key[1])
            or any((use := read(used, each)) is not None and use.is_fail_open for each in uses)
        ):
            localities = read(work.facts.endpoints, key[1]) or ()
        origins = gateways(read, uses) if backend is None else backend.objects
        return _keyed(key[0], assignment(key[1], localities, origins))

    clusters = work.engine.many("clusters", by_backend, make_cluster, same)
    return clusters, work.engine.many("assignments", by_backend, make_assignment, same)


def lingering(work: Work) -> Collection[BackendKey, bool]:
    """Backends without endpoints that are served those which are remembered, since they are not drained yet."""

    def make(read: Read, key: BackendKey, _: tuple[Locality, ...]) -> bool | None:
        state = read(work.decided.states, key)
        is_healthy = state is not None and state.is_healthy
        return None if is_healthy or read(work.facts.drained, key) else True

    return work.engine.each("lingering backends", work.facts.endpoints, make)


def _uses(work: Work) -> Callable[[Read, RouteKey, Served], dict[_BackendUse, _Use]]:
    def make(read: Read, key: RouteKey, served: Served) -> dict[_BackendUse, _Use]:
        decision = read(work.decided.decisions, key)
        led = None if decision is None else decision.backend
        is_fail_open = decision is not None and decision.choice is Choice.FAIL_OPEN
        return {
            _BackendUse(served.group, each, key): _Use(served.gateway, served.origin, is_fail_open and each == led)
            for each in (served.route.primary, served.route.degrade, led)
            if each is not None
        }

    return make


def _keyed(group: str, resource: Resource) -> Made:
    return {(group, resource.type_url, resource.name): resource}

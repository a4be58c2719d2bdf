"""What derivation says of each gateway: what was decided, and what is wrong with it or with what it names."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from xds_server.derive.collection import Collection, Read
from xds_server.ir.decision import GatewayReport, RouteReport
from xds_server.ir.facts import RouteKey
from xds_server.ir.gateway import Gateway, GatewayKey, Protocol, Route
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.translate.gateway.claims import HostKey, HostOwner, Place, is_kept, places_of
from xds_server.translate.gateway.names import Socket, listener_name, secret_name
from xds_server.translate.gateway.resources import Work
from xds_server.translate.gateway.routes import RoutePart


def reports_of(work: Work, parts: Collection[RouteKey, RoutePart]) -> Collection[GatewayKey, GatewayReport]:
    """A report for each gateway, also for one of which nothing can be served."""

    def make(read: Read, key: GatewayKey, gateway: Gateway) -> GatewayReport:
        return GatewayReport(
            key,
            gateway.group,
            gateway.generation,
            gateway.origin,
            gateway.policy,
            routes=_routes(read, work, gateway),
            invalid=(*gateway.problems, *_port_conflicts(read, work, gateway), *_host_conflicts(read, work, gateway)),
            unresolved=(
                *(problem for route in gateway.routes for problem in route.missing),
                *_secrets(read, work, gateway),
            ),
            outdated=read(work.model.concerns, key) or (),
            applied=_applied(read, work, gateway, parts),
            held=gateway.held,
        )

    return work.engine.each("reports", work.model.gateways, make)


def _routes(read: Read, work: Work, gateway: Gateway) -> tuple[RouteReport, ...]:
    decisions = ((route, read(work.decided.decisions, route.key)) for route in gateway.routes)
    listening = _listening(read, work, gateway)
    return tuple(
        RouteReport(
            route.key,
            found,
            route.watch,
            route.max_qps,
            _share(read, work, gateway, route),
            is_open=_is_open(read, work, route, listening),
        )
        for route, found in decisions
        if found is not None
    )


def _listening(read: Read, work: Work, gateway: Gateway) -> set[Socket]:
    """Where a gateway takes connections."""
    return {
        place.socket
        for place, listener in zip(places_of(gateway), gateway.listeners, strict=True)
        if is_kept(read(work.claims.stands, place))
        and (listener.secret is None or read(work.model.certificates, listener.secret) is not None)
    }


def _is_open(read: Read, work: Work, route: Route, listening: set[Socket]) -> bool:
    served = read(work.decided.served, route.key)
    return served is not None and any(host.socket in listening for host in served.hosts)


def _share(read: Read, work: Work, gateway: Gateway, route: Route) -> float | None:
    return None if route.max_qps is None else 1 / (read(work.facts.fleets, gateway.group) or 1)


def _applied(read: Read, work: Work, gateway: Gateway, parts: Collection[RouteKey, RoutePart]) -> str:
    """A hash of what is served for a gateway: where, which hosts, and each route as decided."""
    digest = blake2b(digest_size=16)
    for place, listener in zip(places_of(gateway), gateway.listeners, strict=True):
        if is_kept(read(work.claims.stands, place)):
            digest.update(f"{place.socket} {listener}\0".encode())
    for route in gateway.routes:
        served, part = read(work.decided.served, route.key), read(parts, route.key)
        if served is not None and part is not None:
            digest.update(f"{served.hosts} {part.limit}\0".encode() + part.body)
    return digest.hexdigest()


def _port_conflicts(read: Read, work: Work, gateway: Gateway) -> Iterator[Problem]:
    for place, listener in zip(places_of(gateway), gateway.listeners, strict=True):
        stand = read(work.claims.stands, place)
        use = None if stand is None or stand.lost_to is None else read(work.claims.sockets, place.socket)
        if stand is None or stand.lost_to is None or use is None:
            continue
        holder = _holder(stand.lost_to)
        message = f"listener {listener.name!r} is not served: port {listener.port} is taken by {holder}, which speaks {use.protocol} there"
        yield Problem(gateway.origin, "PortConflict", message, "spec.listeners")


def _host_conflicts(read: Read, work: Work, gateway: Gateway) -> Iterator[Problem]:
    for place in _kept(read, work, gateway):
        for host in dict.fromkeys(host for route in gateway.routes for host in route.hosts):
            owner = read(work.claims.hosts, HostKey(place.socket, host))
            if owner is not None and owner.gateway != gateway.key:
                yield _host_conflict(read, work, gateway, HostKey(place.socket, host), owner)


def _host_conflict(read: Read, work: Work, gateway: Gateway, key: HostKey, owner: HostOwner) -> Problem:
    names = ", ".join(route.key.route for route in gateway.routes if key.host in route.hosts)
    use = read(work.claims.sockets, key.socket)
    where = listener_name(Protocol.HTTP if use is None else use.protocol, key.socket)
    message = f"host {key.host!r} on {where} is kept by {_holder(owner.origin)}; not served for it: {names}"
    return Problem(gateway.origin, "HostConflict", message, "spec.routes")


def _secrets(read: Read, work: Work, gateway: Gateway) -> Iterator[Problem]:
    for listener in gateway.listeners:
        if listener.secret is not None and read(work.model.certificates, listener.secret) is None:
            secret = f"Secret {secret_name(listener.secret)} of type kubernetes.io/tls with a certificate"
            message = f"listener {listener.name!r} is not served: there is no {secret}"
            yield Problem(gateway.origin, "SecretNotFound", message, "spec.listeners")


def _kept(read: Read, work: Work, gateway: Gateway) -> list[Place]:
    return [place for place in places_of(gateway) if is_kept(read(work.claims.stands, place))]


def _holder(origin: Origin) -> str:
    """A gateway by name and place, for people."""
    return f"{origin.kind} {origin.namespace}/{origin.name}{origin.in_file}"

"""Routes that are served, and the decision of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from xds_server.derive.collection import Collection, Read
from xds_server.derive.decision import Candidate, Situation, decide
from xds_server.derive.engine import Engine
from xds_server.derive.facts import Facts
from xds_server.derive.model import Model
from xds_server.ir.backend import Backend, BackendKey
from xds_server.ir.decision import Decision
from xds_server.ir.facts import RouteKey, Verdict
from xds_server.ir.gateway import Gateway, GatewayKey, Route
from xds_server.ir.origin import Origin
from xds_server.ir.switches import ALL, Value
from xds_server.translate.gateway.claims import Claims, HostKey, HostOwner, Place, is_kept, places_of

_SERVICE = "Service"


class _Placed(NamedTuple):
    """A route with what it takes of its gateway."""

    route: Route
    group: str
    gateway: GatewayKey
    origin: Origin
    fail_open: bool
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Served:
    """A route and the virtual hosts it is in; `origin` is that of its gateway."""

    route: Route
    group: str
    gateway: GatewayKey
    origin: Origin
    fail_open: bool
    hosts: tuple[HostKey, ...]


class BackendState(NamedTuple):
    """What of a backend matters beside its endpoints; `services` are the origins of its service."""

    is_healthy: bool
    http2: bool
    services: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """The collections of decisions, and those that they are made of."""

    served: Collection[RouteKey, Served]
    states: Collection[BackendKey, BackendState]
    decisions: Collection[RouteKey, Decision]


def decided_of(engine: Engine, model: Model, facts: Facts, claims: Claims) -> Decided:
    """Derive which routes are served, and where each leads."""
    placed = engine.many("routes", model.gateways, _placed)

    def serve(read: Read, _: RouteKey, route: _Placed) -> Served | None:
        sockets = [place.socket for place in route.places if is_kept(read(claims.stands, place))]
        wanted = [HostKey(socket, host) for socket in sockets for host in route.route.hosts]
        hosts = tuple(key for key in wanted if _owns(read(claims.hosts, key), route.gateway))
        return Served(*route[:-1], hosts) if hosts else None

    served = engine.each("served routes", placed, serve)
    states = engine.each("states of backends", model.backends, _state)

    def choose(read: Read, _: RouteKey, each: Served) -> Decision:
        situation = Situation(
            primary=_candidate(read, states, each.route.primary),
            degrade=_candidate(read, states, each.route.degrade),
            verdict=_verdict(read, facts, each.route),
            fail_open=each.fail_open,
            mode=_mode(read, facts, each.route.key),
            frozen=frozen.decision if (frozen := read(facts.frozen, each.route.key)) is not None else None,
        )
        return decide(situation, lambda: _recall(read, facts, states, each.route.key))

    return Decided(served, states, engine.each("decisions", served, choose))


def _placed(_: Read, key: GatewayKey, gateway: Gateway) -> dict[RouteKey, _Placed]:
    places = tuple(places_of(gateway))
    fail_open = gateway.policy.fail_open
    return {
        route.key: _Placed(route, gateway.group, key, gateway.origin, fail_open, places) for route in gateway.routes
    }


def _owns(owner: HostOwner | None, gateway: GatewayKey) -> bool:
    return owner is not None and owner.gateway == gateway


def _state(_: Read, __: BackendKey, backend: Backend) -> BackendState:
    services = tuple(origin for origin in backend.objects if origin.kind == _SERVICE)
    return BackendState(backend.is_healthy, backend.http2, services)


def _candidate(read: Read, states: Collection[BackendKey, BackendState], backend: BackendKey | None) -> Candidate:
    state = None if backend is None else read(states, backend)
    return Candidate(backend, state is not None and state.is_healthy)


def _verdict(read: Read, facts: Facts, route: Route) -> Verdict:
    """One that was reached for a watch that is gone counts no more."""
    verdict = None if route.watch is None else read(facts.verdicts, route.key)
    return verdict or Verdict.NORMAL


def _mode(read: Read, facts: Facts, route: RouteKey) -> Value:
    """What is said of the one route goes before what is said of all."""
    return read(facts.modes, str(route)) or read(facts.modes, ALL) or Value.AUTO


def _recall(
    read: Read, facts: Facts, states: Collection[BackendKey, BackendState], route: RouteKey
) -> BackendKey | None:
    """The backend of the last good decision, where it has endpoints now or those that it had are known."""
    last = read(facts.decided, route)
    if last is None:
        return None
    if _candidate(read, states, last.backend).is_healthy:
        return last.backend
    endpoints = read(facts.endpoints, last.backend)
    return last.backend if endpoints else None

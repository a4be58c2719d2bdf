"""The sequencer: make before break. What may a client have now, given what it has accepted so far?

A pure function of the group's snapshot and the states of one stream's types; there is no plan to keep. Each
time something happens the goal of each type is worked out anew, so a slow, refusing or reconnecting client is
no special case:

- a listener or route comes only after the client has answered for the clusters that it uses;
- what is no longer declared stays while something that the client accepted, or that is on its way to it, uses it;
- contents that the client refused are replaced by what it accepted.

Rules: xDS spec, "Eventual consistency considerations"; the waits and their bounds are Tidegate's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from xds_server.ir.refs import Refs
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.stream.goal import Goal
from xds_server.stream.state import TypeState
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE, SCOPED_ROUTE, SECRET, key_of

ORDER = (CLUSTER, ENDPOINT, SECRET, LISTENER, SCOPED_ROUTE, ROUTE)
"""The order in which types are looked at: what is used before what uses it."""

_Users = tuple[tuple[str, ...], Callable[[Refs], frozenset[str]]]

_USERS: Mapping[str, _Users] = {
    CLUSTER: ((LISTENER, ROUTE), lambda refs: refs.clusters),
    ENDPOINT: ((CLUSTER,), lambda refs: refs.assignments),
    ROUTE: ((LISTENER, SCOPED_ROUTE), lambda refs: refs.routes),
    SECRET: ((LISTENER, CLUSTER), lambda refs: refs.secrets),
}
"""For each type the types that refer to it, and how."""

_GATED = frozenset({LISTENER, ROUTE})


@dataclass(frozen=True, slots=True)
class Waits:
    """The bounds of waiting, in seconds (`xds.order_timeout`, `xds.removal_timeout`)."""

    order: float = 5.0
    removal: float = 15.0


@dataclass(slots=True)
class Inheritance:
    """What the client may still act on from before this stream, by type, until it asks for the type or `until`."""

    typesets: Mapping[str, tuple[Typeset, ...]] = field(default_factory=dict)
    until: float = 0.0


class Sequencer:
    """Works out the goals of one stream's types. It keeps nothing but references to what it looks at."""

    def __init__(self, states: Mapping[str, TypeState], inheritance: Inheritance, waits: Waits) -> None:
        self._states = states
        self._inheritance = inheritance
        self._waits = waits

    def goal(self, snapshot: Snapshot, state: TypeState, now: float) -> Goal:
        """What this client should have of this type now."""
        source = snapshot.typeset(state.type_url)
        if state.held is source and not state.refusals:
            return Goal(source)
        changes = self._still_used(source, state, now)
        waits_for = self._awaited_user(state) if changes else None
        blocked, overdue = self._blocked(snapshot, source, state, now)
        if blocked:
            waits_for = key_of(CLUSTER)
            changes.update((each.name, state.held.get(each.name)) for each in blocked)
        changes.update((name, state.acked.get(name)) for name in state.refused_in(source))
        withheld = frozenset(name for name, stand_in in changes.items() if stand_in is None and name in source)
        waiting = tuple((each.name, each.version) for each in blocked)
        return Goal(source.overlay(changes), withheld, waiting, overdue, waits_for)

    def _still_used(self, source: Typeset, state: TypeState, now: float) -> dict[str, Resource | None]:
        """What the client has of this type, is no longer declared, and that the client may still use."""
        gone = source.since(state.held).removed
        if not gone or state.type_url not in _USERS:
            return {}
        types, refers = _USERS[state.type_url]
        acting_on = [typeset for type_url in types for typeset in self._possible(type_url, now)]
        kept = {name: state.held.get(name) for name in gone if any(name in refers(each.uses) for each in acting_on)}
        if state.type_url == CLUSTER:
            _keep_members(kept, set(gone), state.held)
        return kept

    def _possible(self, type_url: str, now: float) -> Iterable[Typeset]:
        """Every typeset of a type that the client may act on; after long silence it is taken to have followed."""
        state = self._states.get(type_url)
        if state is not None:
            if state.pending and now - state.pending[-1].sent_at >= self._waits.removal:
                yield state.held
            else:
                yield from state.possible()
        elif now < self._inheritance.until:
            yield from self._inheritance.typesets.get(type_url, ())

    def _awaited_user(self, state: TypeState) -> str | None:
        for type_url in _USERS[state.type_url][0]:
            user = self._states.get(type_url)
            if user is not None and (user.pending or user.waits_for):
                return key_of(type_url)
        return None

    def _blocked(
        self, snapshot: Snapshot, source: Typeset, state: TypeState, now: float
    ) -> tuple[list[Resource], int]:
        """The contents that use clusters for which the client has not answered, and how many waited too long.

        Clients that ask for clusters by name (gRPC) learn the names from the route, so nothing waits for them.
        A wait that has run out lets through what uses clusters that were sent, but never a dangling reference
        nor one to a cluster that was refused.
        """
        clusters = self._states.get(CLUSTER)
        if state.type_url not in _GATED or clusters is None or not clusters.sub.wildcard:
            return [], 0
        declared, blocked, overdue = snapshot.typeset(CLUSTER), [], 0
        for each in source.since(state.held).changed:
            missing = [name for name in _clusters_of(each, snapshot) if name not in clusters.acked and name in declared]
            if not missing:
                continue
            waited = now - state.blocked.get((each.name, each.version), now)
            if waited >= self._waits.order and all(name in clusters.held for name in missing):
                overdue += 1
            else:
                blocked.append(each)
        return blocked, overdue


def _keep_members(kept: dict[str, Resource | None], gone: set[str], held: Typeset) -> None:
    """Add the members of kept aggregate clusters to what is kept."""
    found = list(kept)
    while found:
        resource = held.get(found.pop())
        members = (resource.refs.clusters if resource else frozenset()) & gone - kept.keys()
        kept.update((name, held.get(name)) for name in members)
        found.extend(members)


def _clusters_of(resource: Resource, snapshot: Snapshot) -> Iterable[str]:
    """The clusters that a listener or route uses, those of a listener's route configurations included."""
    yield from resource.refs.clusters
    routes = snapshot.typeset(ROUTE)
    for name in resource.refs.routes:
        route = routes.get(name)
        if route is not None:
            yield from route.refs.clusters

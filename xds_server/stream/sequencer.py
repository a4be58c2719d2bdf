"""The sequencer: make before break. What may a client have now, given what it has accepted so far?

A pure function of the group's snapshot and the states of one stream's types; there is no plan to keep. Each
time something happens the goal of each type is worked out anew, so a slow, refusing or reconnecting client is
no special case:

- a listener or route comes only after the client has answered for the clusters that it uses;
- what is no longer declared stays while something that the client accepted, or that is on its way to it, uses it;
- contents that the client refused are replaced by what it accepted;
- contents of which this process knows only the version (see `Held`) go to nobody.

Rules: xDS spec, "Eventual consistency considerations"; the waits and their bounds are Tidegate's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass, field

from xds_server.ir.refs import ANYTHING, NO_NAMES, Refs
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.stream.doubt import Doubtful
from xds_server.stream.goal import Goal
from xds_server.stream.state import Replaced, TypeState
from xds_server.wire.resource import Held, Resource
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


MOMENT = 0.3
"""Seconds that a client which goes on gets to ask for everything that it had: it does so at once."""


@dataclass(slots=True)
class Inheritance:
    """What the client may still act on from before this stream, by type; it was taken over at `since`.

    It counts until the client asks for the type, and not for longer than the waits. Without typesets nothing is
    known of a client that claims to go on: then any cluster may be used until it has had a moment to ask.
    """

    typesets: Mapping[str, tuple[Typeset, ...]] = field(default_factory=dict)
    replaced: Mapping[str, Mapping[str, Replaced]] = field(default_factory=dict)
    since: float = float("-inf")

    def is_unknown(self, now: float) -> bool:
        """Whether the client goes on with things of which nothing is known, and began to a moment ago."""
        return not self.typesets and now < self.since + MOMENT


class Sequencer:
    """Works out the goals of one stream's types. It keeps nothing but references to what it looks at."""

    __slots__ = (
        "_inheritance",
        "_states",
        "_waits",
    )

    def __init__(self, states: Mapping[str, TypeState], inheritance: Inheritance, waits: Waits) -> None:
        self._states = states
        self._inheritance = inheritance
        self._waits = waits

    def goal(self, snapshot: Snapshot, state: TypeState, now: float) -> Goal:
        """What this client should have of this type now."""
        source = snapshot.typeset(state.type_url)
        if not state.refusals and not state.resend and self._is_free(source, state):
            return Goal(source)
        changes = self._still_used(source, state, now)
        waits_for = self._awaited_user(state) if changes else None
        blocked, unsafe, overdue = self._blocked(snapshot, source, state, now)
        if blocked:
            waits_for = key_of(CLUSTER)
            changes.update(blocked)
        unknown = _unknown_to_both(source, state)
        changes.update(unknown)
        for name in state.refused_in(source) | state.refused_in(source.overlay(changes)):
            accepted = _certain(state, state.acked.get(name))
            again = accepted is not None and accepted.version == source.version_of(name)
            changes[name] = None if again or state.has_refused(accepted) else accepted
        typeset = source.overlay(changes)
        missing = {name for name, stand_in in changes.items() if stand_in is None and name in source}
        withheld = missing | unsafe | (state.resend & typeset.unknown)
        silent = frozenset(unknown) or NO_NAMES
        return Goal(typeset, frozenset(withheld) if withheld else NO_NAMES, overdue, waits_for, silent)

    def _is_free(self, source: Typeset, state: TypeState) -> bool:
        """Whether nothing of what is new has to wait for anything: the usual case, and the one that must be fast."""
        if state.held is source:
            return True
        return state.type_url not in _GATED and not source.unknown and not source.since(state.held).removed

    def is_too_early(self, snapshot: Snapshot, state: TypeState, now: float) -> bool:
        """Whether the first answer for clusters should wait a moment, since it takes some away of which nothing is known.

        A client that goes on asks for its listeners in the same breath, and these tell what is still used.
        """
        if state.type_url != CLUSTER or state.answered or LISTENER in self._states:
            return False
        gone = snapshot.typeset(CLUSTER).since(state.held).removed
        return self._inheritance.is_unknown(now) and any(isinstance(state.held.get(name), Held) for name in gone)

    def _still_used(self, source: Typeset, state: TypeState, now: float) -> dict[str, Resource | None]:
        """What the client has of this type, is no longer declared, and that the client may still use."""
        gone = source.since(state.held).removed
        if not gone or state.type_url not in _USERS:
            return {}
        types, refers = _USERS[state.type_url]
        acting_on = [refers(uses) for type_url in types for uses in self._uses(type_url, now)]
        if state.type_url == CLUSTER and self._inheritance.is_unknown(now) and not self._states.keys() >= set(types):
            acting_on.append(ANYTHING.clusters)
        used = {name for name in gone if any(name in each for each in acting_on)}
        if state.type_url == CLUSTER:
            _add_members(used, set(gone), state.held)
        return {name: _certain(state, state.held.get(name)) for name in used}

    def _uses(self, type_url: str, now: float) -> Iterable[Refs]:
        """What the client may use by its contents of a type; after long silence it is taken to have followed."""
        state = self._states.get(type_url)
        if state is None:
            if now < self._inheritance.since + self._waits.removal:
                yield from (typeset.uses for typeset in self._inheritance.typesets.get(type_url, ()))
                yield from (replaced.refs for replaced in self._inheritance.replaced.get(type_url, {}).values())
            return
        yield from (replaced.refs for replaced in state.replaced.values())
        if state.pending and now >= state.pending[-1].sent_at + self._waits.removal:
            yield state.held.uses
        else:
            yield from (typeset.uses for typeset in state.possible())

    def _awaited_user(self, state: TypeState) -> str | None:
        for type_url in _USERS[state.type_url][0]:
            user = self._states.get(type_url)
            if user is not None and (user.pending or user.waits_for):
                return key_of(type_url)
        return None

    def _blocked(
        self, snapshot: Snapshot, source: Typeset, state: TypeState, now: float
    ) -> tuple[dict[str, Resource | None], set[str], int]:
        """What stands in for contents that use clusters not answered for yet, and how many waited too long.

        In between the names of which the client must not be sent even that, though it asks.

        Clients that ask for clusters by name (gRPC) learn the names from the route, so nothing waits for them.
        A wait that has run out lets through what uses clusters that were sent, but never a dangling reference
        nor one to a cluster that was refused.
        """
        possible = self._possible_clusters(now) if state.type_url in _GATED else ()
        if not possible:
            return {}, set(), 0
        declared, overdue = snapshot.typeset(CLUSTER), 0
        blocked: dict[str, Resource | None] = {}
        unsafe: set[str] = set()
        asked = [source.resources[name] for name in state.resend if name in source]
        for each in {each.name: each for each in (*source.since(state.held).changed, *asked)}.values():
            clusters = declared.resources.keys() & _clusters_of(each, snapshot)
            missing = _missing(clusters, possible)
            if missing and all(self._is_overdue(name, now) for name in missing):
                overdue += 1
            elif missing:
                stand_in = blocked[each.name] = _certain(state, state.held.get(each.name))
                needed = stand_in.refs.clusters if stand_in is not None and state.type_url == ROUTE else NO_NAMES
                if _missing(needed, possible):
                    unsafe.add(each.name)
        return blocked, unsafe, overdue

    def _possible_clusters(self, now: float) -> tuple[Typeset, ...]:
        """The sets of clusters one of which the client has, none when its clusters are not waited for."""
        clusters = self._states.get(CLUSTER)
        if clusters is not None:
            return tuple(clusters.possible()) if clusters.sub.wildcard else ()
        if now < self._inheritance.since + self._waits.order:
            return self._inheritance.typesets.get(CLUSTER, ())
        return ()

    def _is_overdue(self, name: str, now: float) -> bool:
        """Whether the cluster was sent, and its answer should have come long ago."""
        clusters = self._states.get(CLUSTER)
        if clusters is None or name not in clusters.held:
            return False
        sent = list(itertools.takewhile(lambda pending: name in pending.after, reversed(clusters.pending)))
        return bool(sent) and now >= sent[-1].sent_at + self._waits.order


def _unknown_to_both(source: Typeset, state: TypeState) -> dict[str, Resource | None]:
    """What stands in for contents that this process does not know and the client does not have."""
    return {
        name: state.held.get(name) for name in source.unknown if state.held.version_of(name) != source.version_of(name)
    }


def _missing(names: AbstractSet[str], possible: Iterable[Typeset]) -> set[str]:
    """The clusters that the client may be without, if it has one of these sets."""
    missing: set[str] = set()
    for typeset in possible:
        missing.update(set(names).difference(typeset.resources))
        for name in names & typeset.unknown:
            resource = typeset.resources[name]
            if isinstance(resource, Doubtful) and not resource.certain:
                missing.add(name)
    return missing


def _certain(state: TypeState, held: Resource | None) -> Resource | None:
    """What stands in for a content that must not be sent: what is held, for sure if the client asks for it."""
    if isinstance(held, Doubtful) and held.name in state.resend and not state.has_refused(held.old):
        return held.old or held
    return held


def _add_members(used: set[str], gone: set[str], held: Typeset) -> None:
    """Add the members of aggregate clusters that are still used."""
    found = list(used)
    while found:
        resource = held.get(found.pop())
        members = (resource.refs.clusters if resource else frozenset()) & gone - used
        used |= members
        found.extend(members)


def _clusters_of(resource: Resource, snapshot: Snapshot) -> frozenset[str]:
    """The clusters that a listener or route uses, those of a listener's route configurations included."""
    routes = snapshot.typeset(ROUTE)
    found = (routes.get(name) for name in resource.refs.routes)
    return resource.refs.clusters.union(*(route.refs.clusters for route in found if route is not None))

"""Handover: what a client has accepted comes into use only when all that it refers to is there.

Envoy accepts a listener at once, but its predecessor serves until the new one's routes and secrets have come;
gRPC uses the clusters of the former route until those of the new one, and their endpoints, are there. Until then
the clusters and routes of the predecessor must not be taken away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from xds_server.ir.refs import NO_REFS, Refs, merged
from xds_server.snapshot.typeset import Typeset, differing
from xds_server.stream.goal import released
from xds_server.stream.state import Pending, Replaced, TypeState
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, ROUTE, SECRET

States = Mapping[str, TypeState]


class Legacy(NamedTuple):
    """What a client may go on to act on after a stream has ended, by type.

    `typesets` are those of responses on their way, newest first, then what it has accepted, then what it will claim;
    `replaced` is what contents that it has accepted replaced, and what may be in use still.
    """

    typesets: Mapping[str, tuple[Typeset, ...]]
    replaced: Mapping[str, Mapping[str, Replaced]]


NO_LEGACY = Legacy({}, {})


def leave(states: States, before: Legacy) -> Legacy:
    """What a stream in these states leaves, and of the stream before it what the client has not asked for on this one."""
    typesets = {url: (*tuple(state.possible())[::-1], state.confirmed) for url, state in states.items()}
    replaced = {url: state.replaced for url, state in states.items()}
    return Legacy({**before.typesets, **typesets}, {**before.replaced, **replaced})


def take_over(state: TypeState, before: Legacy, now: float) -> None:
    """Note what may be in use still of the node's last stream, when the client goes on on a new one.

    That is what was replaced there, and what is replaced by a content that it claims, and of whose ACK nobody knows.
    """
    state.replaced = dict(before.replaced.get(state.type_url, {}))
    routes = before.typesets.get(ROUTE, ())
    for older in before.typesets.get(state.type_url, ()):
        names = [name for name in differing(state.acked, older) if state.sub.covers(name)]
        for name in released(older, state.acked, names):
            old = older.resources[name]
            ways = [typeset.get(route) for route in old.refs.routes for typeset in routes] if routes else []
            _note(state, old, [route.refs for route in ways if route is not None], now)


def note_replaced(states: States, state: TypeState, pending: Pending, now: float) -> None:
    """Note, before an answer is taken in, what its contents refer to so far, by way of their routes too.

    What refers to all that it referred to before needs no note: by its new content it keeps everything.
    """
    changes, routes = pending.response.changes, states.get(ROUTE)
    # What is accepted is nearly always what the step started from, and then the names are known.
    is_usual = state.acked is pending.before
    names = pending.releases if is_usual else released(state.acked, pending.after, changes)
    for name in names | (state.replaced.keys() & changes.keys()):
        old = state.acked.get(name)
        if old is None or not old.refs:
            continue
        by_way = [each for route in old.refs.routes for each in _route_refs(routes, route)] if routes else []
        _note(state, old, by_way, now)


def _note(state: TypeState, old: Resource, by_way: Iterable[Refs], now: float) -> None:
    earlier = state.replaced.get(old.name, Replaced(NO_REFS, now))
    state.replaced[old.name] = Replaced(merged(old.refs, earlier.refs, *by_way), earlier.since)


def _route_refs(routes: TypeState, name: str) -> Iterator[Refs]:
    """What an accepted route configuration refers to, and what it has replaced and may still be in use."""
    route, replaced = routes.acked.get(name), routes.replaced.get(name)
    if route is not None:
        yield route.refs
    if replaced is not None:
        yield replaced.refs


def forget_replaced(states: States, now: float, patience: float) -> None:
    """Forget the references of contents whose successors are in use by now, or should be after `patience` seconds."""
    for state in states.values():
        if state.replaced:
            state.replaced = {
                name: replaced
                for name, replaced in state.replaced.items()
                if now < replaced.since + patience and not _in_use(states, state, name)
            }


def _in_use(states: States, state: TypeState, name: str) -> bool:
    """Whether a client uses what it has accepted of a name; not if it has dropped the name or asks for it anew."""
    if not state.sub.covers(name) or name in state.resend:
        return False
    resource = state.acked.get(name)
    return resource is None or all(_delivered(states, type_url, target) for type_url, target in _targets(resource.refs))


def _targets(refs: Refs) -> Iterator[tuple[str, str]]:
    for type_url, names in ((ROUTE, refs.routes), (CLUSTER, refs.clusters), (ENDPOINT, refs.assignments)):
        yield from ((type_url, name) for name in names)
    yield from ((SECRET, name) for name in refs.secrets)


def _delivered(states: States, type_url: str, name: str) -> bool:
    """Whether the client has asked for a resource, and has accepted it with all that it needs in turn.

    Envoy's answer for clusters tells already that they are in use.
    """
    state = states.get(type_url)
    if state is None or name not in state.acked or not state.sub.covers(name) or name in state.resend:
        return False
    if any(name in pending.response.changes for pending in state.pending):
        return False
    return (type_url == CLUSTER and state.sub.wildcard) or _in_use(states, state, name)

"""Handover: what a client has accepted comes into use only when all that it refers to is there.

Envoy accepts a listener at once, but its predecessor serves until the new one's routes and secrets have come;
gRPC uses the clusters of the former route until those of the new one, and their endpoints, are there. Until then
the clusters and routes of the predecessor must not be taken away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xds_server.ir.refs import NO_REFS, Refs, merged
from xds_server.stream.goal import released
from xds_server.stream.state import Pending, Replaced, TypeState
from xds_server.wire.types import CLUSTER, ENDPOINT, ROUTE, SECRET

States = Mapping[str, TypeState]


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
        earlier = state.replaced.get(name, Replaced(NO_REFS, now))
        by_way = [each for route in old.refs.routes for each in _route_refs(routes, route)] if routes else []
        state.replaced[name] = Replaced(merged(old.refs, earlier.refs, *by_way), earlier.since)


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

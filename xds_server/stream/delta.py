"""Incremental xDS: how its requests change a subscription, and which response leads to a goal."""

from __future__ import annotations

from operator import attrgetter

from xds_server.ir.refs import NO_NAMES
from xds_server.snapshot.typeset import Typeset
from xds_server.stream.goal import Goal, Step, answer, sized
from xds_server.stream.portions import first_portion
from xds_server.stream.state import TypeState
from xds_server.stream.subscription import WILDCARD, subscription
from xds_server.wire import response
from xds_server.wire.request import DeltaRequest
from xds_server.wire.types import BY_NAME_ONLY

_MOST_UNANSWERED = 8
"""So many responses of a type may wait for their answers because their client went on asking."""


def subscribe(state: TypeState, request: DeltaRequest, *, first: bool) -> None:
    """Take over a request's subscriptions and unsubscriptions, in this order.

    A name that is subscribed (again) is sent even if it was sent before, for the client may have dropped it; a
    name that is unsubscribed under a wildcard is answered with what the wildcard still gives (xDS spec,
    "Unsubscribing from resources").
    """
    if not first and not request.subscribe and not request.unsubscribe:
        return
    before = state.sub
    asked, dropped = request.subscribe - {WILDCARD}, request.unsubscribe - {WILDCARD}
    legacy = first and not request.subscribe and state.type_url not in BY_NAME_ONLY
    wildcard = before.wildcard or legacy or WILDCARD in request.subscribe
    if WILDCARD in request.unsubscribe:
        wildcard = False
    state.sub = subscription(wildcard=wildcard, names=(before.names | asked) - dropped)
    if wildcard and not before.wildcard and not first:
        state.forget_unless(before.names)
    again = (asked - dropped) | (dropped if wildcard else NO_NAMES)
    if first:
        # What the client says it has need not be sent; what it has in another version is seen as a change.
        again -= request.initial_versions.keys()
    state.resend = state.sub.select(state.resend - dropped) | again
    state.asked = (state.asked & state.resend) | again
    state.fresh = (state.fresh & state.resend) | again


def respond(state: TypeState, goal: Goal) -> Step | None:
    """The step that brings the client (nearer) to the goal; None while it has to wait.

    Changes of the snapshot wait until the response before is answered. What a request asks for does not, as long
    as few responses are unanswered: the client waits for it.
    """
    typeset = goal.typeset
    again = _tellable(goal, state.asked if state.pending else state.resend)
    if state.pending:
        if not again or len(state.pending) >= _MOST_UNANSWERED:
            return None
        typeset = state.held.overlay({name: typeset.get(name) for name in again})
    key = ("delta", state.held, state.sub, again, goal, state.answered, state.frozen is None)
    return typeset.shared(key, lambda: sized(_step(state, goal, typeset, again)))


def _step(state: TypeState, goal: Goal, typeset: Typeset, again: frozenset[str]) -> Step | None:
    """What all streams do that stand where this one stands."""
    changes = _changes(state, typeset, again, goal.withheld)
    if not changes and (state.answered or not state.sub.wildcard):
        return Step(None, typeset)
    if (not changes and goal.withheld) or _only_frozen_removals(state, changes, again):
        return None
    part, after = first_portion(state, typeset, changes, attrgetter("delta_field"))
    sent = [typeset.resources[name] for name, version in part.items() if version is not None]
    removed = [name for name, version in part.items() if version is None]
    built = response.delta(state.type_url, goal.typeset.version, sent, removed, part)
    return answer(built, state.held, after)


def _tellable(goal: Goal, names: frozenset[str]) -> frozenset[str]:
    """Those for which there is an answer: not while a name is withheld, nor while its content is not known for sure."""
    silent = goal.withheld | goal.typeset.unknown
    return names - silent if silent else names


def _only_frozen_removals(state: TypeState, changes: dict[str, str | None], again: frozenset[str]) -> bool:
    """Whether this would only take away, which after a refusal waits for the next snapshot: the client stays as it is."""
    return state.frozen is not None and bool(changes) and not again and not any(changes.values())


def _changes(
    state: TypeState, typeset: Typeset, again: frozenset[str], withheld: frozenset[str]
) -> dict[str, str | None]:
    """Name → version (None: removed) of all that this client has to hear of.

    What is new comes first, so that nothing new waits behind a long list of what is gone.
    """
    difference = typeset.since(state.held)
    covers = state.sub.covers
    changes: dict[str, str | None] = {each.name: each.version for each in difference.changed if covers(each.name)}
    changes.update((name, None) for name in difference.removed if covers(name) and name not in withheld)
    if again <= changes.keys():
        return changes
    changes.update((name, typeset.version_of(name)) for name in again)
    return dict(sorted(changes.items(), key=lambda change: (change[1] is None, change[0])))

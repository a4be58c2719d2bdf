"""State of the world: how its requests change a subscription, and which response leads to a goal."""

from __future__ import annotations

from operator import attrgetter

from xds_server.ir.refs import NO_NAMES
from xds_server.snapshot.typeset import Typeset
from xds_server.stream.doubt import Doubtful
from xds_server.stream.goal import Goal, Step, answer, sized
from xds_server.stream.portions import Changes, first_portion
from xds_server.stream.state import TypeState
from xds_server.stream.subscription import WILDCARD, Subscription, subscription
from xds_server.wire import response
from xds_server.wire.request import SotwRequest
from xds_server.wire.response import Response
from xds_server.wire.types import BY_NAME_ONLY, WHOLE_STATE


def subscribe(state: TypeState, request: SotwRequest, *, first: bool) -> None:
    """Take over the names of a request; newly asked names are to be sent whatever was sent before.

    The legacy wildcard (xDS spec, "How the client specifies what resources to return"): an empty first request
    of a type that has it means everything, and goes on to do so until the client names something.
    """
    # The very object where it can be: equal names are one object, whose hash is known and which equals itself at once.
    explicit = request.names - {WILDCARD} if WILDCARD in request.names else request.names
    if request.names:
        state.named = True
        wanted = subscription(wildcard=WILDCARD in request.names, names=explicit)
    else:
        legacy = state.type_url not in BY_NAME_ONLY if first else state.sub.wildcard
        wanted = subscription(wildcard=legacy and not state.named)
    before = state.sub
    if wanted is before:
        return
    state.sub = wanted
    if wanted.wildcard and not before.wildcard:
        state.forget_unless(before.names)
    added = NO_NAMES if before.wildcard else wanted.names - before.names
    state.resend = wanted.select(state.resend | added)
    state.fresh = wanted.select(state.fresh | added)


def respond(state: TypeState, goal: Goal) -> Step | None:
    """The step that brings the client to the goal; None while it has to wait."""
    if state.pending:
        return None
    key = ("sotw", state.held, state.sub, state.resend, goal, state.answered, state.guessed, state.frozen is None)
    return goal.typeset.shared(key, lambda: sized(_step(state, goal)))


def _step(state: TypeState, goal: Goal) -> Step | None:
    """What all streams do that stand where this one stands."""
    whole = state.type_url in WHOLE_STATE
    news = _news(state, goal.typeset, goal.withheld)
    if whole and not state.answered:
        # The first answer is due even when empty, since clients wait for it, but not while all of it is held back.
        if goal.withheld and not _covered(goal.typeset, state.sub):
            return None
    elif not news:
        if not whole or not _removed(state, goal.typeset):
            return Step(None, goal.typeset)
        if state.frozen is not None:
            return None
    if whole:
        typeset = without_doubts(goal.typeset)
        if typeset.unknown or (goal.unknown and state.guessed):
            # What is left out of such a response the client takes for deleted.
            return None
        if typeset is not goal.typeset:
            news = _news(state, typeset, goal.withheld)
        return answer(_build_whole(state, typeset, news), state.held, typeset)
    part, after = first_portion(state, goal.typeset, news, attrgetter("sotw_field"))
    sent = [goal.typeset.resources[name] for name in part]
    return answer(response.sotw(state.type_url, goal.typeset.version, sent, part), state.held, after)


def _news(state: TypeState, typeset: Typeset, withheld: frozenset[str]) -> Changes:
    difference = typeset.since(state.held)
    names = {each.name: each.version for each in difference.changed if state.sub.covers(each.name)}
    if not state.resend:
        return names
    for name in state.resend - withheld:
        content = typeset.get(name)
        if content is not None and not isinstance(content, Doubtful):
            names[name] = content.version
    return dict(sorted(names.items()))


def _removed(state: TypeState, typeset: Typeset) -> list[str]:
    return [name for name in typeset.since(state.held).removed if state.sub.covers(name)]


def _build_whole(state: TypeState, typeset: Typeset, news: Changes) -> Response:
    sent = [typeset.resources[name] for name in _covered(typeset, state.sub)]
    if state.guessed:
        # Where it is not sure what the client has, all may be new to it.
        news = {resource.name: resource.version for resource in sent}
    return response.sotw(state.type_url, typeset.version, sent, {**news, **dict.fromkeys(_removed(state, typeset))})


def without_doubts(typeset: Typeset) -> Typeset:
    """With a response that holds all, what a client may have in one of two contents becomes the old one."""
    unknown = [typeset.resources[name] for name in typeset.unknown]
    return typeset.overlay({each.name: each.old for each in unknown if isinstance(each, Doubtful)})


def _covered(typeset: Typeset, sub: Subscription) -> list[str]:
    return sorted(typeset.resources.keys() if sub.wildcard else sub.names & typeset.resources.keys())

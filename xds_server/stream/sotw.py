"""State of the world: how its requests change a subscription, and which response leads to a goal."""

from __future__ import annotations

from xds_server.snapshot.typeset import Typeset
from xds_server.stream.doubt import Doubtful
from xds_server.stream.goal import Goal, Step
from xds_server.stream.state import TypeState
from xds_server.stream.subscription import WILDCARD, Subscription, subscription
from xds_server.wire import response
from xds_server.wire.request import SotwRequest
from xds_server.wire.resource import Resource
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
    added = frozenset() if before.wildcard else wanted.names - before.names
    state.resend = frozenset(wanted.select(state.resend | added))
    state.asked = frozenset(wanted.select(state.asked | added))


def respond(state: TypeState, goal: Goal) -> Step | None:
    """The step that brings the client to the goal; None while it has to wait."""
    if state.pending:
        return None
    key = ("sotw", state.held, state.sub, state.resend, goal, state.answered, state.frozen is None)
    memo = goal.typeset.memo
    if key not in memo:
        memo[key] = _step(state, goal)
    step: Step | None = memo[key]
    return step


def _step(state: TypeState, goal: Goal) -> Step | None:
    """What all streams do that stand where this one stands."""
    whole = state.type_url in WHOLE_STATE
    if whole and not state.answered:
        # The first answer is due even when empty, since clients wait for it, but not while all of it is held back.
        if goal.withheld and not _covered(goal.typeset, state.sub):
            return None
    elif not _news(state, goal):
        if not whole or not _removed(state, goal):
            return Step(None, goal.typeset)
        if state.frozen is not None:
            return None
    return Step(_build(state, goal), goal.typeset)


def _news(state: TypeState, goal: Goal) -> dict[str, str | None]:
    difference = goal.typeset.since(state.held)
    names = {each.name: each.version for each in difference.changed if state.sub.covers(each.name)}
    for name in state.resend:
        version = goal.typeset.version_of(name)
        if version is not None:
            names[name] = version
    return dict(sorted(names.items()))


def _removed(state: TypeState, goal: Goal) -> list[str]:
    return state.sub.select(goal.typeset.since(state.held).removed)


def _build(state: TypeState, goal: Goal) -> Response:
    typeset = goal.typeset
    news = _news(state, goal)
    if state.type_url not in WHOLE_STATE:
        sent = [typeset.resources[name] for name in news]
        return response.sotw(state.type_url, typeset.version, sent, news)
    removed = _removed(state, goal)
    sent = [typeset.resources[name] for name in _covered(typeset, state.sub)]
    if not state.answered:
        # Where it is not sure what the client has, all may be new to it.
        news = {resource.name: resource.version for resource in sent}
    return response.sotw(state.type_url, typeset.version, sent, news | dict.fromkeys(removed))


def _covered(typeset: Typeset, sub: Subscription) -> list[str]:
    names = typeset.resources.keys() if sub.wildcard else sub.names & typeset.resources.keys()
    return sorted(name for name in names if not _is_unknown(typeset.resources[name]))


def _is_unknown(resource: Resource) -> bool:
    """Whether the client may have it, but only in a content that it refused."""
    return isinstance(resource, Doubtful) and resource.old is None

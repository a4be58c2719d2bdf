"""A session: everything that one xDS stream means, without I/O. Requests, snapshots and ticks in, responses out.

The caller moves bytes and keeps time: it hands in parsed requests, new snapshots and the current time (seconds
of any steady clock), sends what comes back in that order, and calls `tick` once `deadline` has passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from enum import StrEnum
from typing import NamedTuple

from xds_server.ir.refs import NO_NAMES, merged
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.stream import delta, sotw
from xds_server.stream.claims import Lookup, adopt_delta, adopt_sotw, is_new_process, is_unclaimed
from xds_server.stream.goal import sized_names
from xds_server.stream.handover import NO_LEGACY, Legacy, forget_replaced, leave, note_replaced, take_over
from xds_server.stream.sequencer import MOMENT, ORDER, Inheritance, Sequencer, Waits
from xds_server.stream.state import TypeState
from xds_server.wire.request import ErrorDetail, Request, SotwRequest
from xds_server.wire.resource import Resource
from xds_server.wire.response import Response
from xds_server.wire.types import CLUSTER, ENDPOINT, key_of

_EARLY_REQUESTS = 256


class Variant(StrEnum):
    """The two variants of the protocol: state of the world and incremental."""

    SOTW = "sotw"
    DELTA = "delta"


class Answer(NamedTuple):
    """A client's answer to a response: accepted when `error` is None; `took` is the time it took in seconds.

    `sent` is what the response would make of what the client has, `has` what it has now, `suspects` what it refused.
    """

    response: Response
    error: ErrorDetail | None
    took: float
    sent: Typeset
    has: Typeset
    suspects: tuple[Resource, ...] = ()


class Session:
    """The state of one stream of one node, in either protocol variant.

    `answers` and `overdue` (the types of waits that ran out) are for the caller to take and to empty.
    """

    __slots__ = (
        "_awaited",
        "_before",
        "_early",
        "_in_order",
        "_inheritance",
        "_lookup",
        "_respond",
        "_sequencer",
        "_waits",
        "answers",
        "deadline",
        "overdue",
        "snapshot",
        "states",
        "variant",
    )

    def __init__(
        self,
        variant: Variant,
        *,
        waits: Waits | None = None,
        before: Legacy = NO_LEGACY,
        lookup: Lookup = lambda _url, _version: None,
    ) -> None:
        """Start a stream; `before` is what an earlier stream of this node left with it (see `legacy`)."""
        self.variant = variant
        self.snapshot: Snapshot | None = None
        self.states: dict[str, TypeState] = {}
        self.deadline: float | None = None
        self.answers: list[Answer] = []
        self.overdue: list[str] = []
        self._waits = waits or Waits()
        self._before = before
        self._lookup = lookup
        self._inheritance = Inheritance()
        self._awaited = NO_NAMES
        self._sequencer = Sequencer(self.states, self._inheritance, self._waits)
        self._early: list[Request] = []
        self._in_order: list[TypeState] = []
        self._respond = sotw.respond if variant is Variant.SOTW else delta.respond

    def receive(self, request: Request, now: float) -> list[Response]:
        """Take a request in; the responses that are due because of it.

        Before there is a snapshot nothing is sent: an answer made of half of what is declared would take the
        rest away from the client.
        """
        if self.snapshot is None:
            self._early.append(request)
            del self._early[:-_EARLY_REQUESTS]
            return []
        self._take(request, self.snapshot, now)
        return self._advance(self.snapshot, now)

    def publish(self, snapshot: Snapshot, now: float) -> list[Response]:
        """Take a new snapshot of the node's group in; the responses that are due because of it."""
        self.snapshot = snapshot
        early, self._early = self._early, []
        for request in early:
            self._take(request, snapshot, now)
        return self._advance(snapshot, now)

    def tick(self, now: float) -> list[Response]:
        """Let time pass; the responses that were waiting only so long."""
        return [] if self.snapshot is None else self._advance(self.snapshot, now)

    def in_sync(self) -> bool:
        """Whether the client has accepted all that its group's snapshot has for it, nothing of which it lacks."""
        snapshot = self.snapshot
        return snapshot is not None and all(
            not state.pending and state.acked.version == (snapshot.whole or snapshot).typeset(url).version
            for url, state in self.states.items()
        )

    def settled(self) -> frozenset[str]:
        """The types of which the client has accepted all that it is offered."""
        snapshot = self.snapshot
        return frozenset(
            url
            for url, state in self.states.items()
            if snapshot is not None and not state.pending and state.acked.version == snapshot.typeset(url).version
        )

    def legacy(self) -> Legacy:
        """What the client may go on to act on after this stream has ended."""
        return leave(self.states, self._before)

    def _take(self, request: Request, snapshot: Snapshot, now: float) -> None:
        state = self.states.get(request.type_url)
        if state is None:
            self._open(request, snapshot, now)
            return
        self._answer(state, request, snapshot, now)
        if isinstance(request, SotwRequest):
            sotw.subscribe(state, request, first=False)
        else:
            delta.subscribe(state, request, first=False)

    def _open(self, request: Request, snapshot: Snapshot, now: float) -> None:
        """The first request of a type on this stream; its nonce, if any, is of another stream and means nothing."""
        url = request.type_url
        current = snapshot.typeset(url)
        state = self.states[url] = TypeState(url, current.nothing())
        self._in_order = _ordered(self.states)
        claims = bool(request.version_info if isinstance(request, SotwRequest) else request.initial_versions)
        if not self._inheritance.typesets and is_new_process(request, self._before.typesets.get(url, ())):
            self._before = NO_LEGACY
        known = self._before.typesets.get(url, ())
        if isinstance(request, SotwRequest):
            sotw.subscribe(state, request, first=True)
            adopt_sotw(state, request, current, known, self._lookup)
        else:
            delta.subscribe(state, request, first=True)
            adopt_delta(state, request, current, known)
        if url == ENDPOINT:
            state.resend |= state.sub.select(self._warming())
        # Envoy asks for endpoints before clusters only when it goes on with what an earlier stream gave it.
        goes_on = claims or is_unclaimed(known) or (url == ENDPOINT and CLUSTER not in self.states)
        if goes_on and not self._inheritance.typesets:
            self._inheritance.typesets, self._inheritance.replaced = self._before
            self._inheritance.since = now
        if self._inheritance.typesets:
            take_over(state, self._before, now)

    def _warming(self) -> frozenset[str]:
        """The assignments for which clusters may be waiting that were sent before endpoints were asked for."""
        clusters, before = self.states.get(CLUSTER), self._before.typesets.get(CLUSTER, ())
        if clusters is not None:
            return NO_NAMES.union(*(pending.warms for pending in clusters.pending))
        sent = [each for newer in before[:-2] for each in newer.since(before[-2]).changed]
        return merged(*(each.refs for each in sent)).assignments

    def _answer(self, state: TypeState, request: Request, snapshot: Snapshot, now: float) -> None:
        """Only nonce and `error_detail` decide what is an ACK and what a NACK; versions are not compared."""
        pending = state.find_pending(request.nonce)
        if pending is None:
            return
        note_replaced(self.states, state, pending, now)
        if request.error is None:
            state.ack(pending, now, whole=self.variant is Variant.SOTW)
        else:
            state.nack(pending, request.error, snapshot, now)
        nacked = state.last_nacked if request.error else None
        error, suspects = (nacked.error, nacked.suspects) if nacked else (None, ())
        took = now - pending.sent_at
        self.answers.append(Answer(pending.response, error, took, pending.after, state.acked, suspects))

    def _advance(self, snapshot: Snapshot, now: float) -> list[Response]:
        """Bring every type as far as it may go; what one type settles may free another, hence the loop."""
        responses: list[Response] = []
        if self._awaited:
            # Before the steps, for they take what has waited so long for waiting no more.
            self._note_silence(self._awaited, now)
        moved = True
        while moved:
            forget_replaced(self.states, now, self._waits.removal)
            moved = False
            for state in self._in_order:
                moved |= self._step(state, snapshot, now, responses)
        self._awaited = frozenset(state.waits_for for state in self._in_order if state.waits_for) or NO_NAMES
        self.deadline = self._next_deadline(self._awaited, now)
        return responses

    def _step(self, state: TypeState, snapshot: Snapshot, now: float, responses: list[Response]) -> bool:
        source = snapshot.typeset(state.type_url)
        if state.last_nacked is not None:
            state.compare(source)
        if state.held is source and state.answered and not state.resend and not state.refusals:
            _note_waiting(state, None, now)
            return False
        if state.frozen is not snapshot:
            state.frozen = None
        if self._sequencer.is_too_early(snapshot, state, now):
            return False
        goal = self._sequencer.goal(snapshot, state, now)
        step = self._respond(state, goal)
        _note_waiting(state, goal.waits_for, now)
        if step is None:
            return False
        if step.response is None:
            moved = state.held.version != step.after.version or state.acked.version != step.after.version
            state.settle(step.after, goal.withheld)
            return moved
        # A response that this stream may have had before needs a nonce that it has not had.
        response = step.response if step.response.serial > state.serial else step.response.again()
        # The version that a client claims with its first request does not tell of what it has applied in part.
        is_first = self.variant is Variant.SOTW and not state.answered
        state.sent(response, step, now)
        self._count_timeouts(state, goal.overdue)
        responses.append(response)
        if state.type_url == CLUSTER:
            self._send_endpoints_again(step.after, step.after.uses.assignments if is_first else step.warms)
        return True

    def _send_endpoints_again(self, clusters: Typeset, names: frozenset[str]) -> None:
        """A cluster that is sent (again) warms anew and waits for its endpoints, changed or not.

        xDS spec, "Resource warming"; measured with Envoy 1.40, it waits 15 s when nothing comes.
        """
        endpoints = self.states.get(ENDPOINT)
        if endpoints is None or not names:
            return
        select = endpoints.sub.select
        # One object for all streams that ask for the same.
        asked = clusters.shared(("warming", endpoints.sub, names), lambda: sized_names(select(names)))
        endpoints.resend = endpoints.resend | asked if endpoints.resend else asked

    def _count_timeouts(self, state: TypeState, count: int) -> None:
        state.timeouts += count
        self.overdue.extend([state.type_url] * count)

    def _note_silence(self, awaited: AbstractSet[str], now: float) -> None:
        """Count the answers that removals waited for in vain."""
        for state in self._in_order:
            if not state.pending or not self._silent(state, now):
                continue
            nonce = state.pending[-1].response.nonce
            if state.presumed != nonce and key_of(state.type_url) in awaited:
                self._count_timeouts(state, 1)
                state.presumed = nonce

    def _silent(self, state: TypeState, now: float) -> bool:
        return now >= state.pending[-1].sent_at + self._waits.removal

    def _next_deadline(self, awaited: AbstractSet[str], now: float) -> float | None:
        """When the first of the waits runs out, None when nothing waits."""
        waits, since = self._waits, self._inheritance.since
        ends = [since + wait for wait in ((waits.order, waits.removal) if self._inheritance.typesets else (MOMENT,))]
        for state in self._in_order:
            if state.replaced:
                ends.extend(replaced.since + waits.removal for replaced in state.replaced.values())
            if awaited and state.pending and key_of(state.type_url) in awaited:
                ends += [pending.sent_at + waits.order for pending in state.pending]
                ends.append(state.pending[-1].sent_at + waits.removal)
        return min((end for end in ends if end > now), default=None)


def _ordered(states: Mapping[str, TypeState]) -> list[TypeState]:
    """The states in the order in which their types are looked at."""
    rank = {url: number for number, url in enumerate(ORDER)}
    return sorted(states.values(), key=lambda state: rank.get(state.type_url, len(ORDER)))


def _note_waiting(state: TypeState, waits_for: str | None, now: float) -> None:
    if state.waits_for != waits_for:
        state.waits_for, state.waits_since = waits_for, now

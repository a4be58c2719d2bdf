"""The judge: keeps a verdict for every route that watches something, and tells who wants to know when one changes.

It knows neither Kafka nor Prometheus: observers are told what is wanted, and what they report is taken in. All calls
belong on the event loop. Nothing grows with the routes but what is kept of each: equal queries are one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from observers.verdict import State, Step, forget_samples, look, observe, value_of
from xds_server.ir.facts import Conclusion, Observation, Query, Reading, RouteKey, Verdict, Watch

NOT_SAMPLED = "not sampled yet"
"""Why a value is unknown that was never asked for."""


NOT_A_NUMBER = "what was sampled is not a number"
"""Why a value is unknown that was sampled all the same."""


class Timer(Protocol):
    """What ends a call that was put off."""

    def cancel(self) -> None:
        """Have it never made."""


Later = Callable[[float, Callable[[], None]], Timer]
"""Has a function called after so many seconds (`loop.call_later`)."""

Changed = Callable[[Mapping[RouteKey, Verdict]], None]
"""Takes the verdicts that changed."""

Noted = Callable[[Iterable[RouteKey]], None]
"""Takes routes of which what they watch has become known, or unknown."""

Want = Callable[[str, Sequence[Query]], None]
"""Takes all that is wanted of the observer of that name."""


@dataclass(slots=True)
class _Case:
    """One route: what it watches, its state, and the timer of a dwell."""

    watch: Watch
    state: State
    timer: Timer | None = None
    is_edited: bool = False
    """Whether the watch has changed since the last sample."""
    by_edit: bool = False
    """Whether the verdict last changed with the first sample after such a change."""


class Judge:
    """Follows watches, takes observations, tells verdicts."""

    def __init__(
        self,
        clock: Callable[[], float],
        later: Later,
        changed: Changed,
        want: Want,
        noted: Noted,
        *,
        restored: Mapping[RouteKey, Conclusion] | None = None,
    ) -> None:
        """Take times from `clock` (POSIX seconds); begin with the conclusions of an earlier process."""
        self._noted = noted
        self._clock = clock
        self._later = later
        self._changed = changed
        self._want = want
        self._restored = dict(restored or {})
        self._cases: dict[RouteKey, _Case] = {}
        self._watchers: dict[Query, dict[RouteKey, None]] = {}
        self._now: dict[Query, Observation] = {}
        self._known: dict[Query, Observation] = {}
        self._pins: dict[RouteKey, Conclusion] = {}

    def pin(self, changes: Mapping[RouteKey, Conclusion | None]) -> None:
        """Have somebody else's conclusions stand for routes; None: of that one it is judged here again, going on from there."""
        changed: dict[RouteKey, Verdict] = {}
        for route, conclusion in changes.items():
            case = self._cases.get(route)
            if conclusion is None:
                if self._pins.pop(route, None) is not None and case is not None:
                    self._judge(route, case, None, self._clock(), changed)
                continue
            self._pins[route] = conclusion
            if case is not None:
                self._cancel(case)
                before, case.state = case.state.verdict, _pinned(case.state, conclusion)
                if case.state.verdict is not before:
                    changed[route], case.by_edit = case.state.verdict, False
        if changed:
            self._changed(changed)

    def is_pinned(self, route: RouteKey) -> bool:
        """Whether somebody else's conclusion stands for a route."""
        return route in self._pins

    def opinion(self, route: RouteKey) -> Conclusion | None:
        """What is concluded of a route; None while its value is not known here."""
        case = self._cases.get(route)
        return self.conclusion(route) if case is not None and _is_known(self._now[case.watch.query]) else None

    def follow(self, changes: Mapping[RouteKey, Watch | None]) -> None:
        """Take what routes watch from now on; None for a route that is gone or watches nothing any more.

        A watch that changes, by its rule or its query, keeps its verdict: nothing is known under it before its next sample.
        """
        wanted: set[str] = set()
        changed: dict[RouteKey, Verdict] = {}
        for route, watch in changes.items():
            before = self._verdict(route)
            wanted |= self._follow(route, watch)
            after = self._verdict(route)
            if after is not before:
                changed[route] = after
        for observer in sorted(wanted):
            self._want(observer, self.queries(observer))
        if changed:
            self._changed(changed)

    def settled(self) -> None:
        """Take back the restored verdicts of routes that nobody follows: all sources have said what there is."""
        gone = [route for route, found in self._restored.items() if found.verdict is Verdict.OVER]
        self._restored.clear()
        if gone:
            self._changed(dict.fromkeys(gone, Verdict.NORMAL))

    def take(self, observations: Iterable[Observation]) -> None:
        """Take in what an observer reports; what nobody wants any more is left aside."""
        changed: dict[RouteKey, Verdict] = {}
        for observation in observations:
            query = observation.query
            if query not in self._watchers:
                continue
            before, self._now[query] = self._now[query], observation
            is_known = _is_known(observation)
            if _is_known(before) is not is_known:
                self._noted(self._watchers[query])
            if is_known:
                self._known[query] = observation
            now = self._clock()
            for route in self._watchers[query]:
                self._judge(route, self._cases[route], observation, now, changed)
        if changed:
            self._changed(changed)

    def follows_an_edit(self, route: RouteKey) -> bool:
        """Whether the verdict of a route last changed with the first sample after its watch was declared otherwise."""
        case = self._cases.get(route)
        return case is not None and case.by_edit

    def queries(self, observer: str) -> list[Query]:
        """What is wanted of an observer, each once."""
        return [query for query in self._watchers if query.observer == observer]

    def observations(self) -> list[Observation]:
        """What was last reported of all that is wanted."""
        return list(self._now.values())

    def reading(self, route: RouteKey) -> Reading | None:
        """What is known of the value that a route watches; None when it watches none."""
        case = self._cases.get(route)
        if case is None:
            return None
        query, rule = case.watch.query, case.watch.rule
        found, known = self._now[query], self._known.get(query)
        value = value_of(found, rule)
        return Reading(
            case.watch,
            value,
            (found.unknown or NOT_A_NUMBER) if value is None else None,
            known.counted(rule.no_commit) if known is not None else None,
            known.sampled if known is not None else 0.0,
            found.state,
            case.state.verdict,
        )

    def verdicts(self) -> dict[RouteKey, Verdict]:
        """Every verdict that is not normal: of the routes that are followed, and the restored ones of those to come."""
        waiting = {route for route, found in self._restored.items() if found.verdict is Verdict.OVER}
        followed = {route for route, case in self._cases.items() if case.state.verdict is Verdict.OVER}
        return dict.fromkeys(waiting | followed, Verdict.OVER)

    @property
    def routes(self) -> AbstractSet[RouteKey]:
        """The routes that are followed."""
        return self._cases.keys()

    def conclusion(self, route: RouteKey) -> Conclusion | None:
        """What is to be remembered of a route."""
        case = self._cases.get(route)
        if case is None:
            return self._restored.get(route)
        state = case.state
        return Conclusion(state.verdict, state.since, state.was_over)

    def _verdict(self, route: RouteKey) -> Verdict:
        case = self._cases.get(route)
        found = case.state if case is not None else self._restored.get(route)
        return found.verdict if found is not None else Verdict.NORMAL

    def _follow(self, route: RouteKey, watch: Watch | None) -> set[str]:
        """Take what one route watches; the observers of whom something else is wanted now."""
        case = self._cases.get(route)
        if case is not None and watch is not None and case.watch.query == watch.query:
            if case.watch != watch:
                self._cancel(case)
                case.watch, case.state, case.is_edited = watch, forget_samples(case.state), True
            return set()
        found = self._pins.get(route) or self.conclusion(route)
        self._restored.pop(route, None)
        wanted = self._drop(route, case) if case is not None else set()
        return wanted | self._add(route, watch, found) if watch is not None else wanted

    def _add(self, route: RouteKey, watch: Watch, found: Conclusion | None) -> set[str]:
        """Follow from now on, with what was concluded before; the observer that is to be told, if nobody wanted that."""
        query = watch.query
        state = State() if found is None else State(found.verdict, found.since, found.was_over)
        case = self._cases[route] = _Case(watch, state, is_edited=found is not None)
        watchers = self._watchers.setdefault(query, {})
        watchers[route] = None
        if len(watchers) > 1:
            self._judge(route, case, self._now[query], self._clock(), {})
            return set()
        self._now[query] = Observation(query, None, unknown=NOT_SAMPLED)
        return {query.observer}

    def _drop(self, route: RouteKey, case: _Case) -> set[str]:
        """Follow no longer; the observer that is to be told, if nobody else wants the query."""
        self._cancel(case)
        del self._cases[route]
        query = case.watch.query
        watchers = self._watchers[query]
        del watchers[route]
        if watchers:
            return set()
        del self._watchers[query], self._now[query]
        self._known.pop(query, None)
        return {query.observer}

    def _judge(
        self,
        route: RouteKey,
        case: _Case,
        observation: Observation | None,
        now: float,
        changed: dict[RouteKey, Verdict],
    ) -> None:
        """Take a sample of one route in, or (None) look whether a dwell is over."""
        self._cancel(case)
        before, rule = case.state.verdict, case.watch.rule
        step = observe(case.state, rule, observation, now) if observation is not None else look(case.state, rule, now)
        if (pin := self._pins.get(route)) is not None:
            step = Step(_pinned(step.state, pin), None)
        case.state = step.state
        if step.state.verdict is not before:
            changed[route], case.by_edit = step.state.verdict, case.is_edited
        if step.state.newest is not None:
            case.is_edited = False
        if step.again is not None:
            case.timer = self._later(max(step.again - now, 0.0), lambda: self._look(route))

    def _look(self, route: RouteKey) -> None:
        changed: dict[RouteKey, Verdict] = {}
        self._judge(route, self._cases[route], None, self._clock(), changed)
        if changed:
            self._changed(changed)

    def _cancel(self, case: _Case) -> None:
        if case.timer is not None:
            case.timer.cancel()
            case.timer = None


def _pinned(state: State, conclusion: Conclusion) -> State:
    """What was sampled here, with what was concluded elsewhere."""
    return state._replace(verdict=conclusion.verdict, since=conclusion.since, was_over=conclusion.was_over)


def _is_known(observation: Observation) -> bool:
    return observation.value is not None and not math.isnan(observation.value)

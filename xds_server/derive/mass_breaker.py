"""The breaker on degradation itself: when too many routes would degrade at once, their verdicts are held.

A sampler that is wrong is likelier than a world in which most of what there is lags all of a sudden. A pure state machine:
verdicts and the time go in, the verdicts that count come out. Times are POSIX seconds, so that it outlives a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from xds_server.ir.facts import RouteKey, Verdict


@dataclass(frozen=True, slots=True)
class Limits:
    """It trips when more than `percent` of all routes that watch something, and there are `minimum`, turn in `window` seconds."""

    percent: int = 50
    window: float = 60.0
    minimum: int = 4

    def is_too_much(self, turned: int, watched: int) -> bool:
        """Whether so many routes are too many of all."""
        return watched >= self.minimum and turned * 100 > self.percent * watched


@dataclass(frozen=True, slots=True)
class BreakerState:
    """What is remembered.

    `turned` has when routes came to be over that count as over, within the window; of the last one before it tripped while
    it holds. `since` is when it tripped, None while verdicts count. `held` are the verdicts that do not count; `calm` is
    since when few enough are over, with these and those that had turned.
    """

    turned: Mapping[RouteKey, float] = field(default_factory=dict)
    since: float | None = None
    held: Mapping[RouteKey, Verdict] = field(default_factory=dict)
    calm: float | None = None

    @property
    def would_degrade(self) -> int:
        """How many routes would degrade if it did not hold."""
        return sum(verdict is Verdict.OVER for verdict in self.held.values())

    @property
    def suspects(self) -> int:
        """How many routes are over by what made it trip, and by what came since, whether that counts or not."""
        return self.would_degrade + len(self.turned.keys() - self.held.keys())


@dataclass(frozen=True, slots=True)
class Step:
    """The next state, and the verdicts that count from now on."""

    state: BreakerState
    counts: Mapping[RouteKey, Verdict]


def take(state: BreakerState, limits: Limits, verdicts: Mapping[RouteKey, Verdict], watched: int, now: float) -> Step:
    """Take verdicts that have changed; `watched` is how many routes watch anything.

    Those that come together are held together. What degraded before it tripped stays as it is.
    """
    if state.since is not None:
        return look(replace(state, held=_held(state.held, verdicts)), limits, watched, now)
    turned = {route: at for route, at in state.turned.items() if now - at < limits.window}
    for route, verdict in verdicts.items():
        if verdict is Verdict.OVER:
            turned[route] = now
        else:
            turned.pop(route, None)
    if limits.is_too_much(len(turned), watched) and Verdict.OVER in verdicts.values():
        before = {route: at for route, at in turned.items() if route not in verdicts}
        return look(BreakerState(before, now, dict(verdicts)), limits, watched, now)
    return Step(BreakerState(turned), verdicts)


def look(state: BreakerState, limits: Limits, watched: int, now: float) -> Step:
    """Close it where few enough have been over for a whole window: what it held counts from then on.

    To be called every now and then, too: time passes, and routes come and go.
    """
    if state.since is None:
        return Step(state, {})
    if limits.is_too_much(state.suspects, watched):
        return Step(replace(state, calm=None), {})
    # A clock that was set back must not make the window longer than it is.
    calm = now if state.calm is None else min(state.calm, now)
    if now >= calm + limits.window:
        turned = {route: now for route, verdict in state.held.items() if verdict is Verdict.OVER}
        return Step(BreakerState(turned), state.held)
    return Step(replace(state, calm=calm), {})


def reset(state: BreakerState) -> Step:
    """Close it, and begin to count anew: somebody says that what it held is true."""
    return Step(BreakerState(), state.held)


def forget(state: BreakerState, routes: Iterable[RouteKey]) -> Step:
    """Hold nothing of routes that watch nothing any more: what was said of them last counts."""
    gone = set(routes)
    turned = {route: at for route, at in state.turned.items() if route not in gone}
    held = {route: verdict for route, verdict in state.held.items() if route not in gone}
    counts = {route: verdict for route, verdict in state.held.items() if route in gone}
    return Step(replace(state, turned=turned, held=held), counts)


def adopt(state: BreakerState, verdicts: Mapping[RouteKey, Verdict]) -> Step:
    """Have verdicts count that were reached elsewhere, behind a breaker of their own."""
    turned = {route: at for route, at in state.turned.items() if route not in verdicts}
    held = {route: verdict for route, verdict in state.held.items() if route not in verdicts}
    return Step(replace(state, turned=turned, held=held), verdicts)


def counting(state: BreakerState, verdicts: Mapping[RouteKey, Verdict]) -> dict[RouteKey, Verdict]:
    """Of verdicts as they were reached those that count: one that is held is the other one still."""
    return {**verdicts, **{route: _other(verdict) for route, verdict in state.held.items()}}


def _other(verdict: Verdict) -> Verdict:
    return Verdict.NORMAL if verdict is Verdict.OVER else Verdict.OVER


def _held(held: Mapping[RouteKey, Verdict], verdicts: Mapping[RouteKey, Verdict]) -> dict[RouteKey, Verdict]:
    """What is held with these verdicts: one that is back where it was is held no more, for it is what counts."""
    found = dict(held)
    for route, verdict in verdicts.items():
        if found.pop(route, verdict) is verdict:
            found[route] = verdict
    return found

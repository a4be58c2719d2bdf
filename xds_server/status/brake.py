"""The breaker on degradation at work: takes the judge's verdicts, hands on those that count, and raises the alarm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet
from typing import Protocol

import structlog

from xds_server.derive.mass_breaker import BreakerState, Limits, Step, adopt, counting, forget, look, reset, take
from xds_server.ir.events import EventKind
from xds_server.ir.facts import RouteKey, Verdict
from xds_server.status.stamps import stamp

_log = structlog.get_logger()

Emit = Callable[[EventKind, Mapping[str, object]], object]
"""Tells an event to all who follow, and to the audit log."""


class Meter(Protocol):
    """Counts how often the breaker has tripped."""

    def breaker_tripped(self) -> None:
        """It has just tripped."""


class Brake:
    """All calls belong on the event loop.

    What it hands on, and whom it tells, is set by `connect` before anything is taken.
    """

    def __init__(
        self, limits: Limits, clock: Callable[[], float], emit: Emit, meter: Meter, state: BreakerState
    ) -> None:
        """Take times from `clock` (POSIX seconds); begin with what an earlier process held."""
        self.limits = limits
        self.state = state
        self._clock = clock
        self._emit = emit
        self._meter = meter
        self._watched: Callable[[], AbstractSet[RouteKey]] = frozenset
        self._count: Callable[[Mapping[RouteKey, Verdict]], None] = lambda _verdicts: None
        self._changed: Callable[[Iterable[RouteKey]], None] = lambda _routes: None

    def connect(
        self,
        watched: Callable[[], AbstractSet[RouteKey]],
        count: Callable[[Mapping[RouteKey, Verdict]], None],
        changed: Callable[[Iterable[RouteKey]], None],
    ) -> None:
        """Ask `watched` which routes watch anything, hand verdicts that count on to `count`.

        `changed` is told of which routes something else is held than before.
        """
        self._watched, self._count, self._changed = watched, count, changed

    @property
    def watched(self) -> int:
        """How many routes watch anything."""
        return len(self._watched())

    def holds(self, route: RouteKey) -> bool:
        """Whether the newest verdict of a route does not count."""
        return route in self.state.held

    def counting(self, verdicts: Mapping[RouteKey, Verdict]) -> dict[RouteKey, Verdict]:
        """Of an earlier process's verdicts those that count."""
        return counting(self.state, verdicts)

    def take(self, verdicts: Mapping[RouteKey, Verdict]) -> None:
        """Take verdicts that have changed."""
        self._step(take(self.state, self.limits, verdicts, self.watched, self._clock()), "tidegate", "")

    def adopt(self, verdicts: Mapping[RouteKey, Verdict]) -> None:
        """Take verdicts that another replica goes by: its breaker has let them through."""
        self._step(adopt(self.state, verdicts), "tidegate", "")

    def look(self) -> None:
        """Close it if it is time; to be called every second or so."""
        self._step(look(self.state, self.limits, self.watched, self._clock()), "tidegate", "few enough would degrade")

    def forget_others(self) -> None:
        """Hold nothing of routes that watch nothing any more."""
        gone = self.state.held.keys() - self._watched()
        if gone:
            self._step(forget(self.state, gone), "tidegate", "")

    def reset(self, by: str, reason: str) -> None:
        """Have all that it holds count: somebody says that it is true."""
        if self.state.since is not None:
            self._step(reset(self.state), by, reason)

    def _step(self, step: Step, by: str, reason: str) -> None:
        before, self.state = self.state, step.state
        if step.counts:
            self._count(step.counts)
        if before.since is None and step.state.since is not None:
            self._trip(step.state)
        elif before.since is not None and step.state.since is None:
            _log.warning("degradation_breaker_closed", by=by, reason=reason, routes=len(before.held))
            self._tell(by, reason, self._told(before), None)
        if before.held.keys() != step.state.held.keys():
            self._changed(before.held.keys() ^ step.state.held.keys())

    def _trip(self, state: BreakerState) -> None:
        reason = (
            f"{state.suspects} of {self.watched} routes would degrade within {self.limits.window:g} s,"
            f" more than {self.limits.percent} %: the sampler is likelier wrong than the world"
        )
        self._meter.breaker_tripped()
        _log.error("degradation_breaker_open", reason=reason, hint="decisions are held; see docs/governance.md")
        self._tell("tidegate", reason, None, self._told(state))

    def _told(self, state: BreakerState) -> dict[str, object]:
        return {"state": "open", "since": stamp(state.since or 0.0), "held": len(state.held)}

    def _tell(self, by: str, reason: str, before: object, after: object) -> None:
        data = {"switch": "breaker", "route": "*", "target": "breaker", "by": by, "reason": reason}
        self._emit(EventKind.SWITCH, {**data, "before": before, "after": after})

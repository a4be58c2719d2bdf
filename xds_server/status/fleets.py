"""Follows how many Envoys of each group share quotas, on all replicas, and tells derivation when that changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from xds_server.derive.outcome import Outcome
from xds_server.ir.gateway import GatewayKey
from xds_server.status.fleet_size import FleetSize
from xds_server.status.replicas import Replicas
from xds_server.status.tracker import Tracker

CallLater = Callable[[float, Callable[[], None]], asyncio.TimerHandle]
Tell = Callable[[Mapping[str, int]], None]


class Fleets:
    """The sizes of groups with a limited route. All calls belong on the event loop."""

    def __init__(
        self,
        tracker: Tracker,
        replicas: Replicas,
        *,
        clock: Callable[[], float],
        later: CallLater,
        tell: Tell,
        restored: Mapping[str, int],
    ) -> None:
        """Take times from `clock` (steady seconds); begin with the sizes that counted before this process."""
        self._tracker = tracker
        self._replicas = replicas
        self._clock = clock
        self._later = later
        self._tell = tell
        self._last = dict(restored)
        self._limited: dict[str, set[GatewayKey]] = {}
        self._groups: dict[GatewayKey, str] = {}
        self._sizes: dict[str, FleetSize] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_closed = False
        tracker.follow(self._look)
        replicas.follow(self._told_elsewhere)
        replicas.follow_losses(self._expect_return)

    def take(self, outcome: Outcome) -> None:
        """Learn which groups have a limited route, from what gateways are reported as."""
        if self._is_closed:
            return
        for key, report in outcome.reports.items():
            before = self._groups.pop(key, None)
            is_limited = report is not None and any(route.max_qps is not None for route in report.routes)
            after = report.group if report is not None and is_limited else None
            if after is not None:
                self._groups[key] = after
                self._limited.setdefault(after, set()).add(key)
            if before is not None and before != after:
                self._limited[before].discard(key)
            for group in {before, after} - {None}:
                self._follow(str(group))

    def shares(self) -> Mapping[str, float]:
        """Which part of a quota each Envoy has, by group."""
        return {group: 1 / found.size for group, found in self._sizes.items()}

    def close(self) -> None:
        """Change nothing any more: when the process ends streams end, and nobody has left."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._sizes.clear()
        self._is_closed = True

    def _follow(self, group: str) -> None:
        if not self._limited[group]:
            del self._limited[group]
            self._last[group] = self._sizes.pop(group).size
            if (timer := self._timers.pop(group, None)) is not None:
                timer.cancel()
        elif group not in self._sizes:
            self._sizes[group] = FleetSize(self._last.get(group, 1))
            self._look(group)

    def _told_elsewhere(self, groups: Iterable[str] | None) -> None:
        for group in list(self._sizes) if groups is None else groups:
            self._look(group)

    def _expect_return(self) -> None:
        """Give the Envoys of a replica that is lost, or has begun anew, time to connect again."""
        for found in self._sizes.values():
            found.expect_return(self._clock())

    def _look(self, group: str) -> None:
        found = self._sizes.get(group)
        if found is None:
            return
        if (timer := self._timers.pop(group, None)) is not None:
            timer.cancel()
        before, now = found.size, self._clock()
        connected = self._tracker.envoys(group) + self._replicas.envoys(group)
        if self._replicas.is_guess:
            connected = max(connected, found.size)
        due = found.step(connected, now)
        if due is not None:
            self._timers[group] = self._later(max(due - now, 0.0), lambda: self._look(group))
        if found.size != before:
            self._tell({group: found.size})

"""Which Events are told one by one and which as a series, as a state machine without I/O.

The rules and times are those of client-go (tools/events/event_broadcaster.go), which kube-scheduler uses:

- The first one is written. The second one like it makes it a series of 2, which is written too.
- Further ones are only counted. Every 30 minutes the counts of all series are written (`refreshTime`).
- Every 6 minutes what has not been seen for 6 minutes comes to an end (`finishTime`): a series is written once more, and the
  next one like it is a first one again.

Other than there, a count that was written already is not written again.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from k8s_source.events.event import Event, Write, name_of

FINISH = 360.0
REFRESH = 1800.0

_MOST_KEPT = 4096
"""Events that are remembered; beyond them the oldest comes to its end before its time."""


@dataclass(slots=True)
class _Kept:
    event: Event
    name: str
    at: float
    seen: float  # by the clock that never goes back
    last: float
    count: int = 1
    written: int = 1

    def write(self) -> Write:
        self.written = self.count
        return Write(self.event, self.name, self.at, self.count, self.last)


class SeriesBook:
    """What was told lately. `now` is a clock that never goes back, `wall` POSIX time."""

    def __init__(self, now: float, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._kept: dict[Hashable, _Kept] = {}
        self._finish_at = now + FINISH
        self._refresh_at = now + REFRESH
        self._nanoseconds = 0

    @property
    def due(self) -> float:
        """When to sweep next."""
        return min(self._finish_at, self._refresh_at)

    def tell(self, event: Event, now: float, wall: float) -> list[Write]:
        """Something happened; what to write of it."""
        kept = self._kept.get(event.key)
        if kept is None:
            return self._begin(event, now, wall)
        kept.count += 1
        kept.seen, kept.last = now, wall
        return [kept.write()] if kept.written == 1 else []

    def sweep(self, now: float) -> list[Write]:
        """Write counts, and end what is over, where it is time for that."""
        writes = []
        if now >= self._refresh_at:
            self._refresh_at = now + REFRESH
            writes += [each.write() for each in self._kept.values() if each.count > each.written]
        if now >= self._finish_at:
            self._finish_at = now + FINISH
            over = [key for key, each in self._kept.items() if each.seen < now - FINISH]
            writes += [write for key in over for write in self._end(key)]
        return writes

    def _begin(self, event: Event, now: float, wall: float) -> list[Write]:
        writes = self._end(next(iter(self._kept))) if len(self._kept) >= self._most else []
        # Never the same twice, whatever the wall clock does.
        self._nanoseconds = max(self._nanoseconds + 1, int(wall * 1e9))
        kept = _Kept(event, name_of(event.regarding, self._nanoseconds), wall, now, wall)
        self._kept[event.key] = kept
        return [*writes, kept.write()]

    def _end(self, key: Hashable) -> list[Write]:
        kept = self._kept.pop(key)
        return [kept.write()] if kept.count > kept.written else []

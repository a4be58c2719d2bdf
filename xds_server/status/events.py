"""The event bus: what happens, numbered, kept for a while, and handed to everybody who follows."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping

from xds_server.ir.events import Event, EventKind

_KEPT = 1000
_QUEUE = 1000


class EventBus:
    """Numbers events and hands them out. A follower that falls 1,000 events behind is cut off, never waited for."""

    def __init__(self, clock: Callable[[], float], last: int = 0) -> None:
        """Stamp events with that clock (POSIX seconds); `last` is the highest number that was given before."""
        self._clock = clock
        self._kept: deque[Event] = deque(maxlen=_KEPT)
        self._followers: set[asyncio.Queue[Event | None]] = set()
        self._last = last
        self._closed = False

    def number(self) -> int:
        """A number for something that is no event."""
        self._last += 1
        return self._last

    def emit(self, kind: EventKind, data: Mapping[str, object]) -> Event:
        """Tell everybody that something happened; `data` must be JSON values."""
        event = Event(self.number(), self._clock(), kind, data)
        self._kept.append(event)
        for queue in list(self._followers):
            try:
                queue.put_nowait(event)
            except asyncio.QueueFull:
                self._followers.discard(queue)
                queue.get_nowait()
                queue.put_nowait(None)
        return event

    def recent(self) -> list[Event]:
        """The events that are kept, oldest first."""
        return list(self._kept)

    def close(self) -> None:
        """End every follower's iteration, now and later."""
        self._closed = True
        for queue in self._followers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(None)
        self._followers.clear()

    async def follow(self, after: int | None = None) -> AsyncIterator[Event]:
        """All events from now on; with `after` also those kept with a higher id. Ends when cut off or closed."""
        if self._closed:
            return
        queue: asyncio.Queue[Event | None] = asyncio.Queue(_QUEUE)
        self._followers.add(queue)
        try:
            if after is not None:
                for kept in [each for each in self._kept if each.id > after]:
                    yield kept
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._followers.discard(queue)

"""A probe of the event loop: a beat every millisecond, and the longest time that one came late."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Self

_PERIOD = 0.001


class Heartbeat:
    """While it is entered it beats; `held_ms` is the longest time that the loop was held since the last `reset`."""

    def __init__(self) -> None:
        self.held_ms = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._beat())
        await asyncio.sleep(0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def reset(self) -> float:
        """Begin anew; what was the longest until now, in milliseconds."""
        held, self.held_ms = self.held_ms, 0.0
        return held

    async def _beat(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_PERIOD)
            late = time.perf_counter() - before - _PERIOD
            self.held_ms = max(self.held_ms, late * 1000)

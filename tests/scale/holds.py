"""How long the event loop is held, by a probe that runs beside what is tried."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

GOAL = 0.05
"""Seconds that the loop may be held, by the design."""

GROSS = 0.25
"""Seconds by which a test fails: it has other company than the design."""


class Holds:
    """How long the loop was held, in seconds of this process's own time: what others take of the machine is no hold."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.over = 0

    async def watch(self) -> None:
        """Look every millisecond."""
        while True:
            before = time.process_time()
            await asyncio.sleep(0.001)
            held = time.process_time() - before
            self.longest = max(self.longest, held)
            self.over += held > GOAL


@asynccontextmanager
async def watched() -> AsyncIterator[Holds]:
    """Watch the loop meanwhile."""
    holds = Holds()
    task = asyncio.create_task(holds.watch())
    try:
        yield holds
    finally:
        task.cancel()

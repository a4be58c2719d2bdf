"""Turns: much work on the event loop, in steps between which others go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

SLICE = 0.002
"""Seconds of work after which others of the event loop have a turn."""


class Turns:
    """Gives others of the event loop a turn now and then. The loop's own time stands still within a turn (uvloop)."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def take(self) -> None:
        """Let others run if it has been long enough."""
        if time.perf_counter() - self._began >= SLICE:
            await asyncio.sleep(0)
            self._began = time.perf_counter()


async def in_turns(steps: Iterable[object]) -> None:
    """Take all steps; others have their turns between them. Cancelled, it takes the rest at once: nothing stays half done."""
    left, turns = iter(steps), Turns()
    try:
        for _ in left:
            await turns.take()
    finally:
        for _ in left:
            pass

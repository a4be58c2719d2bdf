"""A thread for costly answers (thousands of resources as JSON) that lets the event loop go first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_SLICE = 0.002
"""Seconds of work after which the thread lets go of the interpreter; else the loop would wait 5 ms each time."""

_REST = 0.0002

_THREADS = 1
"""More would only take turns with each other: the work is all Python."""


class WorkStoppedError(RuntimeError):
    """Raised out of `Worker.pause` when the server stops."""


class Worker:
    """Does one piece of work at a time; the work calls `pause` between its items."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "tidegate-admin")
        self._stopping = False
        self._since = 0.0

    async def run(self, work: Callable[[], T]) -> T:
        """Do the work in the thread and give its result.

        Raises:
            WorkStoppedError: The server stops.
        """
        if self._stopping:
            raise WorkStoppedError
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def pause(self) -> None:
        """Let others go first when the slice of time is used up.

        Raises:
            WorkStoppedError: The server stops.
        """
        if self._stopping:
            raise WorkStoppedError
        if time.monotonic() - self._since > _SLICE:
            time.sleep(_REST)
            self._since = time.monotonic()

    def stop(self) -> None:
        """Take no more work; what runs ends at its next `pause`."""
        self._stopping = True
        self._pool.shutdown(wait=False, cancel_futures=True)

"""A writer: takes things on the event loop and has them written in a thread, in order, many at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import structlog

_log = structlog.get_logger()

Item = TypeVar("Item")

MOST_WAITING = 1000
"""Things that wait for a slow disk; of more the oldest are lost."""

_RETRY = 2.0
"""Seconds until what could not be written is tried again."""

_LOGGED_EVERY = 60.0
"""Seconds between two lines of the log that tell of one failure that goes on."""


class Writer(Generic[Item]):
    """Nobody who adds something waits. `write` blocks and may raise OSError: then `failed` is told, and it is tried again.

    An error that names no file, as that of a full disk does, is told with `path`. The first one is logged, then one a
    minute, and when it is over.
    """

    def __init__(self, write: Callable[[Sequence[Item]], None], failed: Callable[[OSError], None], path: Path) -> None:
        self._path = path
        self._write = write
        self._failed = failed
        self._waiting: deque[Item] = deque(maxlen=MOST_WAITING)
        self._writing = 0
        self._tries = 0
        self._logged_at = 0.0
        self._added = 0
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()
        self._closing = False
        self._ended = asyncio.Event()

    def add(self, item: Item) -> None:
        """Have something written, after all that was added before."""
        self._added += 1
        self._waiting.append(item)
        self._wake.set()

    @property
    def done(self) -> int:
        """How many of all things that were added are written, or lost."""
        return self._added - len(self._waiting) - self._writing

    async def flushed(self) -> None:
        """Wait until all that was added so far is written."""
        target = self._added
        while self.done < target:
            self._progress.clear()
            await self._progress.wait()

    async def run(self) -> None:
        """Write until `close` is called."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                # What is added while something is being written is left for one more step.
                is_last = self._closing
                if self._waiting and not await self._step() and not self._closing:
                    await self._rest()
                if is_last:
                    return
        finally:
            self._ended.set()

    async def close(self) -> None:
        """Write what is left, once, and end `run`, which must have been started."""
        self._closing = True
        self._wake.set()
        await self._ended.wait()

    async def _step(self) -> bool:
        batch = list(self._waiting)
        self._waiting.clear()
        self._writing = len(batch)
        try:
            await asyncio.to_thread(self._write, batch)
        except OSError as error:
            error.filename = error.filename or str(self._path)
            self._failed(error)
            self._log_failure(error)
            room = MOST_WAITING - len(self._waiting)
            self._waiting.extendleft(reversed(batch[-room:] if room else []))
            return False
        finally:
            self._writing = 0
            self._progress.set()
        if self._tries:
            _log.info("state_written_again", path=str(self._path), failed_tries=self._tries)
            self._tries = 0
        return True

    def _log_failure(self, error: OSError) -> None:
        now, self._tries = asyncio.get_running_loop().time(), self._tries + 1
        if self._tries == 1 or now - self._logged_at >= _LOGGED_EVERY:
            self._logged_at = now
            told = {"path": error.filename, "reason": error.strerror, "failed_tries": self._tries}
            _log.error("state_not_written", **told, hint="it is tried again")

    async def _rest(self) -> None:
        """Wait a while before the next try, but not when the process ends."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _RETRY
        while not self._closing and (left := end - loop.time()) > 0:
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), left)
            except TimeoutError:
                break
        self._wake.set()

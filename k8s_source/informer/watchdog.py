"""The watchdog of one watch: tells a silence that is too long, and then ends the watch.

A connection whose other end has frozen, or whose path has lost its state, looks like a quiet one: no data, no end. Two
things are known of a healthy watch: the server ends it after the time that it was asked to, and API servers send a
bookmark each minute or so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

QUIET = 150.0
"""Seconds without a word that are too long where the server sends bookmarks: two may be late."""

OVERDUE = 1.0
"""Seconds after the end of a watch, or of the quiet time, when it is told as silent."""

MARGIN = 5.0
"""Seconds after the same when it is given up."""


class Watchdog:
    """Watches over what `limit` bounds. `told` is called once in each silence that is too long."""

    def __init__(self, limit: asyncio.Timeout, lasts: float, quiet: float, told: Callable[[], None]) -> None:
        """`lasts` is what the server was asked for; a silence of `quiet` seconds is too long in any case."""
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._told = told
        self.quiet = quiet
        self.heard = self._loop.time()
        self._ends = self.heard + lasts
        self._has_told = False
        self._timer = self._loop.call_at(self._due + OVERDUE, self._look)

    def hear(self) -> bool:
        """Something came; whether its silence had been told."""
        self.heard = self._loop.time()
        had_told, self._has_told = self._has_told, False
        return had_told

    def stop(self) -> None:
        """The watch has ended."""
        self._timer.cancel()

    @property
    def _due(self) -> float:
        """When something must have come: the server's end, later only if something still comes after it."""
        return min(self.heard + self.quiet, max(self._ends, self.heard))

    def _look(self) -> None:
        now, due = self._loop.time(), self._due
        if now >= due + MARGIN:
            self._limit.reschedule(now)
            return
        if now >= due + OVERDUE:
            if not self._has_told:
                self._has_told = True
                self._told()
            due += MARGIN - OVERDUE
        self._timer = self._loop.call_at(due + OVERDUE, self._look)

"""How many requests a stream may send: a bucket that fills with time."""

from __future__ import annotations

BURST = 10.0
"""Seconds' worth of requests that may come at once."""


class Pace:
    """The requests of one stream."""

    __slots__ = ("_at", "_left", "_rate")

    def __init__(self, rate: int, now: float) -> None:
        """Allow `rate` requests a second; times are steady seconds."""
        self._rate = rate
        self._left = rate * BURST
        self._at = now

    def take(self, now: float) -> bool:
        """Note a request; false when it is one too many."""
        self._left = min(self._rate * BURST, self._left + (now - self._at) * self._rate) - 1
        self._at = now
        return self._left >= 0

"""How fast what failed is tried again: a back-off for each key, and a bucket of tokens for all of them.

The figures are those of client-go's `DefaultTypedControllerRateLimiter` (util/workqueue/default_rate_limiters.go).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

_DOUBLINGS = 63
"""More of them pass any sensible limit."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that double with each failure in a row, from `base` to `most` seconds.

    client-go's have no jitter, and keys that failed together come back together. Here each delay is shortened by a
    random part, at most `jitter` of it. `chance` gives numbers from 0 to 1.
    """

    base: float = 0.005
    most: float = 1000.0
    jitter: float = 0.2
    chance: Callable[[], float] = random.random

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures before this one."""
        full = min(self.base * 2.0 ** min(failures, _DOUBLINGS), self.most)
        return full * (1 - self.jitter * self.chance())


class Bucket:
    """Tokens: `burst` at most, `rate` new ones each second. Who takes one that is not there yet waits for it."""

    __slots__ = ("_at", "_burst", "_rate", "_tokens")

    def __init__(self, rate: float = 10.0, burst: int = 100) -> None:
        """Begin full."""
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._at = 0.0

    def reserve(self, now: float) -> float:
        """Take the next token; the answer is in how many seconds it is there."""
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._rate)
        self._at = max(self._at, now)
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)


@dataclass(frozen=True, slots=True)
class Limits:
    """How failed keys are tried again: each by its own back-off, and all of them by a bucket."""

    backoff: Backoff = field(default_factory=Backoff)
    rate: float = 10.0
    burst: int = 100

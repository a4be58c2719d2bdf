"""Among how many Envoys a group's quotas are shared: who is connected, damped. A state machine without a clock.

It grows at once and shrinks late: too few count would let too much through. docs/design/012-quota.md says why.
"""

from __future__ import annotations

from math import inf

TOLERATED = 0.1
"""How much more than its share the fleet may let through for a while."""

PACE = 1.0
"""Seconds between two growths that stay below that."""

SHRINK_AFTER = 1.0
"""Seconds for which fewer have to be connected until fewer count: whose stream breaks is back by then."""

RETURN_WITHIN = 30.0
"""Seconds that Envoys take to come back when none could connect: the longest that they wait between attempts."""


class FleetSize:
    """The size that counts for one group. Times are seconds of one steady clock."""

    def __init__(self, size: int = 1) -> None:
        """Begin with none connected, and with the size that counted before."""
        self.size = size
        self._is_empty = True
        self._grown = -inf
        self._settled = -inf
        self._fewer_since: float | None = None
        self._most = 0

    def step(self, connected: int, now: float) -> float | None:
        """Take in how many are connected now; when to call again though nobody comes or goes, None for never."""
        if connected == 0:
            self._is_empty, self._fewer_since = True, None
            return None
        if self._is_empty:
            self._is_empty, self._settled = False, now + RETURN_WITHIN
        if connected < self.size:
            return self._shrink(connected, now)
        self._settled, self._fewer_since = -inf, None
        return self._grow(connected, now) if connected > self.size else None

    def expect_return(self, now: float) -> None:
        """Shrink late from now on, until as many are connected as count: some are on their way."""
        self._settled = now + RETURN_WITHIN

    def _grow(self, connected: int, now: float) -> float | None:
        due = self._grown + PACE
        if now < due and connected < (1 + TOLERATED) * self.size:
            return due
        self.size, self._grown = connected, now
        return None

    def _shrink(self, connected: int, now: float) -> float | None:
        """To the most that were connected meanwhile, and at most by half: who is cut off from here still serves."""
        if self._fewer_since is None:
            self._fewer_since, self._most = now, connected
        self._most = max(self._most, connected)
        due = max(self._fewer_since + SHRINK_AFTER, self._settled)
        if now < due:
            return due
        self.size = max(self._most, -(-self.size // 2))
        self._fewer_since, self._most = (now, connected) if connected < self.size else (None, 0)
        return None if self._fewer_since is None else now + SHRINK_AFTER

"""The breaker of one target: after so many failures in a row it is left alone for a while, then asked once."""

from __future__ import annotations

from contextlib import suppress

from circuitbreaker import STATE_HALF_OPEN, CircuitBreaker


class Breaker:
    """`state` is closed, open or half_open. Time is the machine's monotonic clock.

    The library answers "half open" to everyone who asks while the probe is out; here one asker has the probe, and
    everybody else is refused until it has told how the probe went.
    """

    def __init__(self, failures: int, reset: float) -> None:
        """Open after `failures` in a row, for `reset` seconds."""
        self._circuit = CircuitBreaker(failure_threshold=failures, recovery_timeout=reset)
        self._probing = False

    @property
    def state(self) -> str:
        """The state for people: half open from when a probe is due until it has been answered."""
        return str(self._circuit.state)

    def admits(self) -> bool:
        """Whether the target may be asked now; who is told so must call `succeeded`, `failed` or `gave_up`."""
        if self._probing or self._circuit.opened:
            return False
        self._probing = self._circuit.state == STATE_HALF_OPEN
        return True

    def succeeded(self) -> None:
        """The target has answered."""
        self._probing = False
        self._circuit.reset()

    def failed(self) -> None:
        """The target has not answered."""
        self._probing = False
        with suppress(_Failure), self._circuit:  # the library counts what leaves its context
            raise _Failure

    def gave_up(self) -> None:
        """The asker was stopped before it knew."""
        self._probing = False


class _Failure(Exception):  # noqa: N818 - it never leaves this module
    pass

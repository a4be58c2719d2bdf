"""How a reconcile ends: done for now, to be looked at again, to be tried again, or not before something changes.

As controller-runtime has it (pkg/reconcile/reconcile.go: `Result`, `TerminalError`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """Done. `requeue_after` is in how many seconds to look again; 0 at once, behind the back-off of what never rests."""

    requeue_after: float | None = None


class RetryableError(Exception):
    """It may go well later: the key is tried again after its back-off, and not before `after` seconds."""

    def __init__(self, message: str, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after


class PermanentError(Exception):
    """It goes wrong each time, until something changes: the key waits for its next `add`.

    `reason` is a CamelCase word, as conditions have it.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message

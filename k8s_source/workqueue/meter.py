"""What queues and controllers tell of their work, to metrics."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class Outcome(StrEnum):
    """How a call of `reconcile` ended.

    The values of controller-runtime's label `result`, and `terminal`: an error that is not tried again.
    """

    SUCCESS = "success"
    ERROR = "error"
    TERMINAL = "terminal"
    REQUEUE = "requeue"
    REQUEUE_AFTER = "requeue_after"


class Meter(Protocol):
    """Where queues and controllers count; both have the controller's name."""

    def work_added(self, name: str) -> None:
        """Count a key that waits from now on."""

    def work_retried(self, name: str) -> None:
        """Count a key that is to be tried again."""

    def work_started(self, name: str, waited: float) -> None:
        """Count a key that waited so many seconds before its work began."""

    def work_ended(self, name: str, took: float) -> None:
        """Count a piece of work that took so many seconds."""

    def reconciled(self, name: str, outcome: Outcome, took: float) -> None:
        """Count a call of `reconcile` that took so many seconds."""

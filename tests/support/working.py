"""A meter of queues and controllers that keeps what it is told."""

from __future__ import annotations

from collections import Counter

from k8s_source.workqueue.meter import Outcome


class Counting:
    """What a queue and its controller told."""

    def __init__(self) -> None:
        self.added: Counter[str] = Counter()
        self.retried: Counter[str] = Counter()
        self.waits: list[float] = []
        self.took: list[float] = []
        self.outcomes: Counter[Outcome] = Counter()

    def work_added(self, name: str) -> None:
        self.added[name] += 1

    def work_retried(self, name: str) -> None:
        self.retried[name] += 1

    def work_started(self, name: str, waited: float) -> None:
        self.waits.append(waited)

    def work_ended(self, name: str, took: float) -> None:
        self.took.append(took)

    def reconciled(self, name: str, outcome: Outcome, took: float) -> None:
        self.outcomes[outcome] += 1

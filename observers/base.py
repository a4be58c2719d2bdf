"""The Observer protocol: how facts from outside (Kafka lag, Prometheus, a plug-in) are asked for and told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from xds_server.ir.facts import Observation, Query

Report = Callable[[Sequence[Observation]], None]
"""Takes what a round of asking has changed: each query that was sampled, and each that has become unknown.

A fresh sample has a `sampled` of its own; what is told again with an older one is no sample. Called on the event loop.
"""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a target is asked; all times in seconds."""

    interval: float = 5.0
    timeout: float = 3.0
    ttl: float = 15.0
    failures: int = 5
    reset: float = 30.0


class Observer(Protocol):
    """One sort of facts. Found by the entry point group `tidegate.observers` under its `name`.

    A plug-in is called with `name=` and the keys of its section of the settings.
    """

    name: str

    def want(self, queries: Iterable[Query]) -> None:
        """Replace what is wanted; all of it has `observer == name`. Cheap, and only on the event loop.

        How often a target is asked does not depend on how many routes watch: equal queries are one.
        """

    async def run(self, report: Report) -> None:
        """Ask, and report, until cancelled. A target that can't be asked is reported, and ends nothing."""

    def observations(self) -> Sequence[Observation]:
        """What is known now of all that is wanted, also of what was never sampled; ordered by key."""


class Meter(Protocol):
    """Where samplers count. `target` is what a breaker guards: a Kafka cluster, a Prometheus."""

    def sampled(self, observer: str, target: str, seconds: float) -> None:
        """Count a round of asking a target, and how long it took."""

    def sample_failed(self, observer: str, target: str, reason: str) -> None:
        """Count a query that could not be answered, or whose answer is of no use; `reason` is a constant word."""

"""An observer that runs beside a test, and what it has told so far; and the one of Kafka lag."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from observers.base import Observer, Sampling
from observers.kafka_lag.observer import KafkaLag
from observers.kafka_lag.options import ClusterOptions
from xds_server.ir.facts import LagQuery, Observation, Query

Observing = TypeVar("Observing", bound=Observer)

SLACK = float(os.environ.get("TIDEGATE_TEST_SLACK", "3"))
"""Machines differ: every limit in seconds is multiplied by this."""

FAST = Sampling(interval=0.2, timeout=1.0, ttl=2.0, failures=3, reset=1.0)
"""Times of a test: short, and with room for a busy machine."""


class Meter:
    """Counts what samplers tell."""

    def __init__(self) -> None:
        self.rounds: list[tuple[str, float]] = []
        self.another = asyncio.Event()
        self.failures: Counter[tuple[str, str]] = Counter()

    def sampled(self, observer: str, target: str, seconds: float) -> None:
        """See `observers.base.Meter`."""
        assert observer in {"kafka", "prometheus"}
        self.rounds.append((target, seconds))
        self.another.set()

    def sample_failed(self, observer: str, target: str, reason: str) -> None:
        """See `observers.base.Meter`."""
        assert observer in {"kafka", "prometheus"}
        self.failures[target, reason] += 1


class Following(Generic[Observing]):
    """What the observer told, newest last."""

    def __init__(self, observer: Observing, meter: Meter) -> None:
        self.observer = observer
        self.meter = meter
        self.told: list[Observation] = []
        self._more = asyncio.Event()

    def report(self, observations: Sequence[Observation]) -> None:
        """Take what is told."""
        self.told += observations
        self._more.set()

    def of(self, query: Query) -> list[Observation]:
        """What was told of one query."""
        return [each for each in self.told if each.query == query]

    def now(self, query: Query) -> Observation:
        """What is known of one query now."""
        (found,) = [each for each in self.observer.observations() if each.query == query]
        return found

    async def rounds(self, more: int) -> None:
        """Wait until so many more rounds are over; the last one may not have been told yet."""
        goal = len(self.meter.rounds) + more
        async with asyncio.timeout(60 * SLACK):
            while len(self.meter.rounds) < goal:
                self.meter.another.clear()
                await self.meter.another.wait()

    async def until(self, query: Query, right: Callable[[Observation], bool], seconds: float = 10.0) -> Observation:
        """Wait until something that is told from now on is right."""
        begin = len(self.told)
        try:
            async with asyncio.timeout(seconds * SLACK):
                while True:
                    for each in self.told[begin:]:
                        if each.query == query and right(each):
                            return each
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise AssertionError(f"not told in time; last: {self.of(query)[-3:]}") from None


Watcher = Following[KafkaLag]


def at(bootstrap: str) -> ClusterOptions:
    """A cluster without login."""
    host, _, port = bootstrap.rpartition(":")
    return ClusterOptions(((host, int(port)),))


@asynccontextmanager
async def watching(
    clusters: Mapping[str, ClusterOptions],
    queries: Iterable[LagQuery],
    sampling: Sampling = FAST,
    stall_samples: int = 3,
) -> AsyncIterator[Watcher]:
    """An observer of lag that runs."""
    meter = Meter()
    async with following(KafkaLag("kafka", clusters, sampling, meter, stall_samples), meter, queries) as watcher:
        yield watcher


@asynccontextmanager
async def following(observer: Observing, meter: Meter, queries: Iterable[Query]) -> AsyncIterator[Following[Observing]]:
    """Run an observer of which `meter` counts what it does."""
    watcher = Following(observer, meter)
    observer.want(queries)
    task = asyncio.create_task(observer.run(watcher.report))
    try:
        yield watcher
        assert not task.done(), "the observer has ended"
    finally:
        task.cancel()
        await asyncio.wait([task])

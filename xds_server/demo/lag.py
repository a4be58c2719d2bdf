"""The demo's own look at a group's lag, apart from Tidegate's: so that it knows when a threshold was really passed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition

PERIOD = 0.05
"""Seconds from one reading to the next."""

PATIENCE = 5.0
"""Seconds that a request to the broker may take."""


class Reading(NamedTuple):
    """A lag, and when it was read (POSIX seconds)."""

    lag: int
    at: float


class LagReader:
    """Reads the lag of one group on one topic by a client of its own that joins nothing."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        """Read from the cluster at `bootstrap`; nothing is asked yet."""
        self._topic = topic
        self._client = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, "log_level": 0}
        )

    async def read(self) -> int:
        """The lag now: over all partitions, the end less what is committed. Raises KafkaException."""
        return await asyncio.to_thread(self._read)

    async def has_committed(self) -> bool:
        """Whether the group has committed anything; not while there is no topic yet, or no answer."""
        try:
            return any(partition.offset >= 0 for partition in await asyncio.to_thread(self._committed))
        except KafkaException:
            return False

    async def rises_over(self, limit: int, *, within: float) -> Reading:
        """Wait for a lag over `limit`; its time is when it passed. Raises TimeoutError, KafkaException."""
        return await self._passes(limit, lambda lag: lag > limit, within)

    async def falls_to(self, limit: int, *, within: float) -> Reading:
        """Wait for a lag of at most `limit`; its time is when it passed. Raises TimeoutError, KafkaException."""
        return await self._passes(limit, lambda lag: lag <= limit, within)

    async def _passes(self, limit: int, wanted: Callable[[int], bool], within: float) -> Reading:
        deadline = time.monotonic() + within
        before = now = await self._reading()
        while not wanted(now.lag):
            if time.monotonic() >= deadline:
                raise TimeoutError(f"not within {within:g} s: a lag beyond {limit} (last: {now.lag})")
            await asyncio.sleep(PERIOD)
            before, now = now, await self._reading()
        return Reading(now.lag, _between(before, now, limit))

    async def _reading(self) -> Reading:
        return Reading(await self.read(), time.time())

    async def close(self) -> None:
        """Give up the connections."""
        await asyncio.to_thread(self._client.close)

    def _read(self) -> int:
        # Commits before ends: the other way round a lag could be negative.
        committed = self._committed()
        if not committed:
            raise KafkaException(f"no topic {self._topic}")
        return sum(self._behind(partition) for partition in committed)

    def _committed(self) -> list[TopicPartition]:
        found = self._client.list_topics(self._topic, timeout=PATIENCE).topics[self._topic]
        partitions = [TopicPartition(self._topic, number) for number in found.partitions]
        return self._client.committed(partitions, timeout=PATIENCE)

    def _behind(self, committed: TopicPartition) -> int:
        edges = self._client.get_watermark_offsets(committed, timeout=PATIENCE)
        if edges is None:
            raise KafkaException(f"no answer on {committed.topic} {committed.partition}")
        first, end = edges
        return end - (committed.offset if committed.offset >= 0 else first)


def _between(before: Reading, now: Reading, limit: int) -> float:
    """When the lag was `limit`, if it went evenly from one reading to the next: a reading may have had to wait."""
    way = now.lag - before.lag
    return now.at if way == 0 else before.at + (now.at - before.at) * (limit - before.lag) / way

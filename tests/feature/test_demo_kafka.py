"""The demo's Kafka: the mock broker, the producer, the consumer that is stopped and goes on, and the look at its lag."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.fleet import SLACK
from tests.support.lagging import LaggingGroup
from xds_server.demo.kafka import MockBroker, Orders
from xds_server.demo.lag import LagReader


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[MockBroker]:
    async with MockBroker(tmp_path) as broker:
        yield broker


async def test_lag_rises_while_the_consumer_is_stopped_and_falls_when_it_goes_on(
    broker: MockBroker, tmp_path: Path
) -> None:
    async with Orders(tmp_path, broker.bootstrap) as orders:
        orders.pause()
        began = time.time()
        over = await orders.reader.rises_over(100, within=5 * SLACK)
        stopped = time.time()
        orders.resume()
        back = await orders.reader.falls_to(40, within=5 * SLACK)
        assert over.lag > 100
        assert back.lag <= 40
        assert began < over.at < stopped < back.at < time.time()


async def test_a_lag_that_does_not_come_is_told(broker: MockBroker, tmp_path: Path) -> None:
    async with Orders(tmp_path, broker.bootstrap) as orders:
        with pytest.raises(TimeoutError, match="last: "):
            await orders.reader.falls_to(-1, within=0.2)


async def test_it_reads_the_lag_that_is_there(broker: MockBroker) -> None:
    group, reader = LaggingGroup(broker.bootstrap, "parcels", "post"), LagReader(broker.bootstrap, "parcels", "post")
    try:
        await group.fill(1000)
        assert not await reader.has_committed()
        assert await reader.read() == 1000
        for lag in (600, 0, 1000):
            await group.lag(lag)
            assert await reader.read() == lag
    finally:
        await reader.close()

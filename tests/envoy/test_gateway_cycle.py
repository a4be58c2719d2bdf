"""A route follows the lag of a consumer group through real Envoys, with a broker that needs no Java.

The same stories with real Kafka: `tests/kafka/test_cycle.py`, which CI plays in their full length.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scale.scaling import scaled
from tests.support.kafka_mock import mock_cluster
from tests.support.kafka_process import BrokerProcess
from tests.support.lagging_shop import open_shop
from tests.support.lagging_stories import degrades_and_comes_back, does_not_flap, holds_through_an_outage

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(300)]

Broker = tuple[BrokerProcess, str]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with mock_cluster(tmp_path) as broker:
        yield broker


async def test_a_route_degrades_and_comes_back(broker: Broker, tmp_path: Path) -> None:
    async with open_shop(tmp_path, broker[1], "orders") as shop:
        await degrades_and_comes_back(shop)


@scaled(("oscillating", "steady"), (12, 5.0), (120, 60.0))
async def test_k89_no_flapping(broker: Broker, tmp_path: Path, oscillating: int, steady: float) -> None:
    async with open_shop(tmp_path, broker[1], "orders", dwell=1.0, enterSamples=3) as shop:
        await does_not_flap(shop, oscillating=oscillating, steady=steady)


@pytest.mark.parametrize("lag", [500, 0], ids=["degraded", "healthy"])
@scaled("seconds", 0.0, 60.0)
async def test_k82_a_frozen_broker_changes_nothing(broker: Broker, tmp_path: Path, lag: int, seconds: float) -> None:
    process, bootstrap = broker

    async def freeze() -> None:
        await asyncio.to_thread(process.freeze)

    async def thaw() -> None:
        await asyncio.to_thread(process.thaw)

    async with open_shop(tmp_path, bootstrap, "orders") as shop:
        await holds_through_an_outage(shop, lag, freeze, thaw, seconds=seconds)

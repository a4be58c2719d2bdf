"""A route follows the lag of a consumer group through real Envoys, with real Kafka: its cycle, no flapping, outages.

The same stories with a broker that needs no Java: `tests/envoy/test_gateway_cycle.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.kafka.broker import Kafka
from tests.support.counts import long_or_short
from tests.support.lagging_shop import open_shop
from tests.support.lagging_stories import Deed, degrades_and_comes_back, does_not_flap, holds_through_an_outage

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(400)]


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A broker of this test's own, to be killed."""
    broker = Kafka(tmp_path_factory.mktemp("own"))
    broker.start()
    yield broker
    broker.stop()


async def topic(broker: Kafka, name: str) -> str:
    """Make a topic of one partition."""
    client = AIOKafkaAdminClient(bootstrap_servers=broker.address())
    await client.start()
    try:
        await client.create_topics([NewTopic(name, 1, 1)])
    finally:
        await client.close()
    return name


async def test_a_route_degrades_and_comes_back(kafka: Kafka, tmp_path: Path) -> None:
    async with open_shop(tmp_path, kafka.address(), await topic(kafka, "cycle")) as shop:
        await degrades_and_comes_back(shop)


async def test_k89_no_flapping(kafka: Kafka, tmp_path: Path) -> None:
    place = await topic(kafka, "flapping")
    async with open_shop(tmp_path, kafka.address(), place, dwell=1.0, enterSamples=3) as shop:
        await does_not_flap(shop, oscillating=long_or_short(120, 12), steady=long_or_short(60, 5))


@pytest.mark.parametrize("way", ["killed", "frozen"])
@pytest.mark.parametrize("lag", [500, 0], ids=["degraded", "healthy"])
async def test_k82_an_outage_changes_nothing(own: Kafka, tmp_path: Path, way: str, lag: int) -> None:
    """No route changes while Kafka is gone, nobody floods it, and it is followed again by itself when it is back."""
    stop, start = deeds(own, way)
    async with open_shop(tmp_path, own.address(), await topic(own, "outage")) as shop:
        longest = 60 if (way, lag) == ("killed", 500) else 15
        await holds_through_an_outage(shop, lag, stop, start, seconds=long_or_short(longest, 0))


def deeds(broker: Kafka, way: str) -> tuple[Deed, Deed]:
    """How the broker goes away, and how it comes back."""

    async def kill() -> None:
        await asyncio.to_thread(broker.process.kill)

    async def restart() -> None:
        await asyncio.to_thread(broker.start)

    async def freeze() -> None:
        await asyncio.to_thread(broker.process.freeze)

    async def thaw() -> None:
        await asyncio.to_thread(broker.process.thaw)

    return (kill, restart) if way == "killed" else (freeze, thaw)

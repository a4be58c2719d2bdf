"""Every test here needs a real broker; without one it is skipped, and says what is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from tests.kafka.broker import Kafka, missing
from tests.support.tiers import mark_tier

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here."""
    mark_tier(items, HERE, timeout=120, missing=missing())


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A broker that creates topics when it is asked for them carelessly, as Kafka does by default."""
    broker = Kafka(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
async def admin(kafka: Kafka) -> AsyncIterator[AIOKafkaAdminClient]:
    """Who makes topics."""
    client = AIOKafkaAdminClient(bootstrap_servers=kafka.address())
    await client.start()
    yield client
    await client.close()

"""Every test here needs a real Prometheus; without one it is skipped, and says what is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.prometheus.server import Exporter, Prometheus, exporter, missing, prometheus
from tests.support.tiers import mark_tier

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here."""
    mark_tier(items, HERE, timeout=180, missing=missing())


@pytest.fixture
async def scraped() -> AsyncIterator[Exporter]:
    """What the server scrapes."""
    async with exporter() as found:
        yield found


@pytest.fixture
async def server(scraped: Exporter, tmp_path: Path) -> AsyncIterator[Prometheus]:
    """A server that lets everybody in."""
    async with prometheus(tmp_path / "prometheus", scraped.address) as found:
        yield found

"""The shop of the feature tests, whose route `orders` follows the value of a Prometheus query."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.feature.shop import Shop, gateway, shop
from xds_server.demo.control_plane import Json

QUERY = "sum(queue_depth)"
TIMES = {"interval": "0.2s", "timeout": "0.6s", "ttl": "1s", "breaker": {"failures": 3, "reset": "1s"}}
"""Times of a test: short, and with room for a busy machine."""


def value_gateway(query: str = QUERY, **route: Any) -> Json:
    """A gateway whose route `orders` degrades over 100 and comes back at 80."""
    found = gateway(prometheusQuery=query, threshold=100, recoverThreshold=80, **route)
    orders = found["spec"]["routes"][0]
    del orders["kafkaConsumerGroup"], orders["kafkaLagThreshold"]
    return found


@asynccontextmanager
async def value_shop(folder: Path, monkeypatch: pytest.MonkeyPatch, url: str, **settings: Any) -> AsyncIterator[Shop]:
    """Run one that asks the Prometheus at `url`; further keys go to its section."""
    observers = {"prometheus": {"url": url, **TIMES, **settings}}
    async with shop(folder, monkeypatch, observed=False, observers=observers) as place:
        place.declare(value_gateway())
        yield place

"""The full cycle through the server's process: a route degrades on the value of a real Prometheus, and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prometheus.server import Exporter, Prometheus
from tests.support.value_shop import QUERY, value_shop


async def test_a_route_degrades_holds_through_an_outage_and_comes_back(
    server: Prometheus, scraped: Exporter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scraped.samples = {'queue_depth{queue="a"}': "40", 'queue_depth{queue="b"}': "30"}
    async with value_shop(tmp_path, monkeypatch, server.url) as place:
        await place.decided("primary", lag=70, unknown=None, watches=f"prometheus:{QUERY}")

        scraped.samples['queue_depth{queue="b"}'] = "110.5"
        route = await place.decided("degraded", lag=150.5, threshold=100, backend="shop/orders-lite:80")
        assert await place.clusters() == {"shop/orders/80", "shop/orders-lite/80"}

        scraped.samples['queue_depth{queue="b"}'] = "NaN"
        await place.said("Degraded", "Unknown", f"the value of {QUERY} is unknown: the value is NaN")
        await place.decided("degraded", lag=None, last_lag=150.5)

        assert server.process is not None
        server.process.kill()
        condition = await place.said("Degraded", "Unknown", "127.0.0.1")
        assert "it stays degraded" in condition["message"]
        assert (await place.decided("degraded", lag=None, state="unreachable"))["since"] == route["since"]

        scraped.samples['queue_depth{queue="b"}'] = "39"
        await server.start()
        await place.decided("primary", lag=79, unknown=None, reason="healthy")
        assert await place.clusters() == {"shop/orders/80"}
        assert [each["after"]["decision"] for each in await place.degradations()] == ["degraded", "primary"]

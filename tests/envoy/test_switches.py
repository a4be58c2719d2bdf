"""Switches, by requests through real Envoys: no request fails, whatever is switched while they run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.kafka_mock import mock_cluster
from tests.support.lagging_shop import LITE, PRIMARY, Shop, open_shop
from xds_server.demo.backends import Backend
from xds_server.demo.control_plane import Json
from xds_server.demo.manifests import DEFAULT, endpoint_slice
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(240)]

ROUTE = "default/checkout/orders"
SECOND = "checkout-second"
"""What another endpoint of the primary service answers with."""


@pytest.fixture
def bootstrap(tmp_path: Path) -> Iterator[str]:
    with mock_cluster(tmp_path) as (_, bootstrap):
        yield bootstrap


async def put(shop: Shop, **body: Any) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.put(f"{shop.plane.admin}/v1/switches", json=body) as response,
    ):
        assert response.status == 200, await response.text()


def switch(value: str = "on", route: str = "*", **more: Any) -> Json:
    return {"route": route, "value": value, "reason": "a test", **more}


async def is_over(shop: Shop) -> None:
    """Wait until lag is concluded to be too much."""

    async def probe() -> bool:
        routes = (await shop.plane.gateway(DEFAULT, "checkout")).get("routes", [])
        return [each["verdict"] for each in routes] == ["over"]

    await until(probe, within=30, what="the verdict is over")


async def stays_at(shop: Shop, name: str, seconds: float = 1.5) -> None:
    """For a while every request is answered by that backend."""
    others = {each: shop.answers(each) for each in (PRIMARY, LITE) if each != name}
    await asyncio.sleep(seconds)
    assert {each: shop.answers(each) for each in others} == others


async def is_answered_by(shop: Shop, name: str) -> None:
    async def probe() -> bool:
        return shop.answers(name) > 0

    await until(probe, within=30, what=f"requests are answered by {name}")


async def test_forced_degradation_leads_requests_to_the_degrade_backend_until_it_expires(
    bootstrap: str, tmp_path: Path
) -> None:
    async with open_shop(tmp_path, bootstrap, "orders", dwell=0.5) as shop:
        await put(shop, degradation=[switch("forced")])
        await shop.leads_to(LITE)
        await put(shop, degradation=[])
        await shop.leads_to(PRIMARY)
        expires = datetime.fromtimestamp(time.time() + 4, UTC).isoformat()
        await put(shop, degradation=[switch("forced", ROUTE, expires=expires)])
        await shop.leads_to(LITE)
        assert await shop.leads_to(PRIMARY) >= datetime.fromisoformat(expires).timestamp() - 0.1


async def test_degradation_off_keeps_requests_at_the_primary_backend_whatever_the_lag(
    bootstrap: str, tmp_path: Path
) -> None:
    async with open_shop(tmp_path, bootstrap, "orders", dwell=0.5) as shop:
        await put(shop, degradation=[switch("off")])
        await shop.group.lag(500)
        await is_over(shop)
        await stays_at(shop, PRIMARY)
        await put(shop, degradation=[])
        await shop.leads_to(LITE)


@pytest.mark.parametrize("route", ["*", ROUTE])
async def test_a_freeze_keeps_where_requests_lead_and_lets_endpoints_flow_across_a_restart(
    bootstrap: str, tmp_path: Path, route: str
) -> None:
    state = tmp_path / "state"
    async with Backend(SECOND) as second, open_shop(tmp_path, bootstrap, "orders", dwell=0.5, state=state) as shop:
        await put(shop, freeze=[switch(route=route)])
        await shop.group.lag(500)
        await is_over(shop)
        await shop.plane.stop()
        await shop.plane.start()
        await is_over(shop)
        write_documents(shop.plane.files / "more.yaml", [endpoint_slice(PRIMARY, port=second.port, number=7)])
        await is_answered_by(shop, SECOND)
        await stays_at(shop, PRIMARY)
        assert shop.answers(LITE) == 0
        await put(shop, freeze=[])
        await shop.leads_to(LITE)


async def test_read_only_holds_back_decisions_and_endpoints_across_a_restart_until_it_is_released(
    bootstrap: str, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    async with Backend(SECOND) as second, open_shop(tmp_path, bootstrap, "orders", dwell=0.5, state=state) as shop:
        await put(shop, read_only=switch())
        await shop.group.lag(500)
        await is_over(shop)
        await shop.plane.stop()
        await shop.plane.start()
        write_documents(shop.plane.files / "more.yaml", [endpoint_slice(PRIMARY, port=second.port, number=7)])
        await is_over(shop)
        await stays_at(shop, PRIMARY)
        assert (await shop.route())["decision"] == "degraded", "the status tells what would be"
        assert (shop.answers(LITE), shop.answers(SECOND)) == (0, 0)
        assert (await shop.condition("Programmed"))["reason"] == "ReadOnly"
        await put(shop, read_only=switch("off"))
        await shop.leads_to(LITE)
        await shop.group.lag(0)
        await is_answered_by(shop, SECOND)

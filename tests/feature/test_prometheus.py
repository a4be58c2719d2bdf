"""A route that follows a Prometheus query, through the server's process, while a query API answers all sorts of things."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.feature.commands import tidegate
from tests.feature.shop import Shop
from tests.support.lag_watch import SLACK
from tests.support.query_api import QueryApi, Said, failure, query_api, scalar, success, vector
from tests.support.value_shop import QUERY, value_gateway, value_shop
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until

FAULTS: dict[str, tuple[Callable[[], Said], str, str]] = {
    "NaN": (lambda: scalar("NaN"), "NaN", "the value is NaN"),
    "+Inf": (lambda: scalar("+Inf"), "infinite", "the value is +Inf"),
    "-Inf": (lambda: scalar("-Inf"), "infinite", "the value is -Inf"),
    "[]": (vector, "no series", "the query finds nothing"),
    "two series": (lambda: vector("1", "2000"), "several series", "let it aggregate"),
    "string": (lambda: success("string", [0, "5"]), "no number", "the query gives a string"),
    "status=error": (lambda: failure("internal", "disk"), "error", "internal: disk"),
    "503": (lambda: Said(b"", 503), "busy", "HTTP status 503"),
    "30 s": (lambda: Said(b"", delay=30), "timeout", "no answer in time"),
    "10 min old": (lambda: scalar("5", age=600), "old", "s old; max_age is 60 s"),
}
"""What is said, the state that it makes, and the reason in the status."""


@pytest_asyncio.fixture(loop_scope="session")
async def api() -> AsyncIterator[QueryApi]:
    async with query_api() as found:
        yield found


async def observed(place: Shop) -> Json:
    """What the API says of the query."""
    (found,) = (await place.server.get("/v1/observers"))["observers"]
    return dict(found)


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("value", "decision"), [(150, "degraded"), (7, "primary")])
async def test_k90_whatever_is_no_value_is_unknown_and_nothing_changes(
    api: QueryApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: int, decision: str
) -> None:
    api.said = vector(str(value))
    async with value_shop(tmp_path, monkeypatch, api.url) as place:
        since = (await place.decided(decision, lag=value, threshold=100, unknown=None))["since"]
        for said, state, reason in FAULTS.values():
            api.said = said()
            condition = await place.said("Degraded", "Unknown", reason)
            assert condition["reason"] == "ValueUnknown"
            assert f"the value of {QUERY} is unknown" in condition["message"]
            assert f"it stays {decision}" in condition["message"]
            assert "lag" not in condition["message"].lower()
            held = await place.decided(decision, lag=None, last_lag=value)
            assert held["since"] == since, "never decided anew"
            assert (await observed(place))["value"] is None
            assert (
                await place.server.metric("tidegate_observer_failures_total", observer="prometheus", reason=state) > 0
            )
            api.said = vector(str(value))
            await place.decided(decision, lag=value, unknown=None)
        assert len(await place.degradations()) == (decision == "degraded")
        assert (await place.gateway())["status"]["kafkaLag"] == {}


async def test_a_route_degrades_on_a_value_and_comes_back(
    api: QueryApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.said = vector("7.5")
    async with value_shop(tmp_path, monkeypatch, api.url) as place:
        await place.decided("primary", lag=7.5, watches=f"prometheus:{QUERY}", backend="shop/orders:80")
        api.said = vector("100.5")
        await place.decided("degraded", lag=100.5, reason="over-threshold", backend="shop/orders-lite:80")
        assert await place.clusters() == {"shop/orders/80", "shop/orders-lite/80"}
        found = await observed(place)
        assert (found["name"], found["key"], found["value"]) == ("prometheus", QUERY, 100.5)
        assert (found["unknown"], found["state"], found["breaker"], found["routes"]) == (None, "ok", "closed", 1)
        told = await tidegate("gateways", "--admin", place.server.plane.admin)
        assert "(over-threshold); value 100.5 of 100" in told
        api.said = vector("-3")
        await place.decided("primary", lag=-3, reason="healthy")
        assert await place.clusters() == {"shop/orders/80"}
        told = await tidegate("events", "--admin", place.server.plane.admin)
        assert "degraded to shop/orders-lite:80 (over-threshold, value 100.5 of 100)" in told
        assert "primary to shop/orders:80 (healthy, value -3" in told


async def test_routes_cost_no_calls(api: QueryApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with value_shop(tmp_path, monkeypatch, api.url, interval="600s", ttl="600s", timeout="20s") as place:
        await place.decided("primary", lag=1)
        many = value_gateway()
        orders = many["spec"]["routes"][0]
        more = [{**orders, "name": f"r{number}", "path": f"/r{number}"} for number in range(200)]
        many["spec"]["routes"] += more
        place.declare(many)

        async def all_known() -> bool:
            routes = (await place.gateway())["routes"]
            return len([each for each in routes if each["lag"] == 1]) == 1 + len(more)

        await until(all_known, within=10 * SLACK, what="201 routes that know the value", interval=0.1)
        assert api.asked == [QUERY]
        assert (await observed(place))["routes"] == 1 + len(more)

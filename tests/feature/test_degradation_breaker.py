"""The breaker on degradation on a running server: ten routes, each with a consumer group of its own."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.conformance.client import SLACK
from tests.feature.commands import tidegate
from tests.feature.shop import Shop, gateway, shop
from tests.feature.test_switches import entries, put, switch
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import replace_file

ROUTES = 10


def ten() -> Json:
    """A gateway with ten routes that watch a group each."""
    made = gateway()
    made["spec"]["routes"] = [
        {**made["spec"]["routes"][0], "name": f"r{number}", "path": f"/r{number}", "kafkaConsumerGroup": f"g{number}"}
        for number in range(ROUTES)
    ]
    return made


def lag(place: Shop, over: Iterable[int]) -> None:
    """These routes lag, the others do not."""
    lagging = set(over)
    replace_file(
        place.folder / "lag.json",
        json.dumps({f"default/g{number}": 500 if number in lagging else 0 for number in range(ROUTES)}),
    )


async def degraded(place: Shop) -> list[str]:
    routes = (await place.gateway()).get("routes", [])
    return [each["name"] for each in routes if each["decision"] == "degraded"]


async def breaker(place: Shop, state: str, **fields: object) -> Json:
    async def probe() -> Json | None:
        found: Json = (await place.server.get("/v1/switches"))["breaker"]
        wanted = {"state": state, **fields}
        return found if {key: found[key] for key in wanted} == wanted else None

    return await until(probe, within=8 * SLACK, what=f"breaker {state} {fields}", interval=0.05)


async def begin(place: Shop) -> None:
    """Declare the ten routes, and wait until each of them has a value."""
    lag(place, ())
    place.declare(ten())

    async def known() -> bool:
        routes = (await place.gateway()).get("routes", [])
        return [each["lag"] for each in routes] == [0] * ROUTES

    await until(known, within=8 * SLACK, what="all lags are known")


async def trip(place: Shop) -> None:
    """Have one route degrade, and then six more lag at once."""
    lag(place, [0])

    async def one() -> bool:
        return await degraded(place) == ["r0"]

    await until(one, within=8 * SLACK, what="r0 is degraded")
    lag(place, range(7))
    await breaker(place, "open", held=6, watched=ROUTES)


SETTINGS = {"breaker": {"percent": 50, "window": "3s"}}


async def test_when_too_many_routes_would_degrade_decisions_are_held_with_an_alarm_until_they_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch, degradation=SETTINGS) as place:
        await begin(place)
        await trip(place)
        assert await degraded(place) == ["r0"], "what degraded before stays, and nothing else does"
        held = await place.said("Degraded", "Unknown", "too many routes would degrade")
        assert held["reason"] == "BreakerOpen"
        route = await place.route("r3")
        assert (route["decision"], route["verdict"], route["held"]) == ("primary", "over", True)
        metric = place.server.metric
        assert await metric("tidegate_degradation_breaker_open") == 1
        assert await metric("tidegate_degradation_breaker_held_routes") == 6
        assert await metric("tidegate_degradation_breaker_trips_total") == 1
        entry = (await entries(place))[-1]
        assert (entry["actor"], entry["target"], entry["after"]["state"]) == ("tidegate", "breaker", "open")
        assert "7 of 10 routes" in entry["reason"]
        assert "decisions are held since" in await tidegate("gateways", "--admin", place.server.plane.admin)
        assert "degradation_breaker_open" in place.server.plane.child.tail(200)

        lag(place, range(4))
        since = time.monotonic()
        await breaker(place, "closed", held=0)
        assert time.monotonic() - since >= 2.0, "a whole window of calm"

        async def four() -> bool:
            return await degraded(place) == ["r0", "r1", "r2", "r3"]

        await until(four, within=8 * SLACK, what="what was held counts")
        assert (await entries(place))[-1]["after"] is None


async def test_the_breaker_holds_over_a_restart_and_an_operator_s_word_goes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch, degradation=SETTINGS) as place:
        await begin(place)
        await trip(place)
        await place.server.plane.stop()
        await place.server.plane.start()
        await breaker(place, "open", held=6, watched=ROUTES)
        await asyncio.sleep(3.5)
        assert await degraded(place) == ["r0"], "a restart lets nothing through"
        await put(place, degradation=[switch("forced", "shop/edge/r9")])
        assert await degraded(place) == ["r0", "r9"]
        await put(place, degradation=[switch("auto")])
        assert (await breaker(place, "closed"))["held"] == 0

        async def all_of_them() -> bool:
            return await degraded(place) == [f"r{number}" for number in range(7)]

        await until(all_of_them, within=8 * SLACK, what="the verdicts count")


async def test_few_routes_are_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        place.lag(150)
        await place.decided("degraded", held=False)
        assert (await breaker(place, "closed"))["watched"] == 1

"""Switches on a running server: what each does, says, and leaves behind over a restart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.conformance.client import SLACK
from tests.feature.commands import tidegate
from tests.feature.shop import Shop, gateway, shop
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until

ROUTE = "shop/edge/orders"
PRIMARY, LITE = "shop/orders/80", "shop/orders-lite/80"


@pytest_asyncio.fixture(loop_scope="session")
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    async with shop(tmp_path, monkeypatch) as found:
        yield found


async def send(place: Shop, method: str, path: str, body: Json) -> tuple[int, Json]:
    async with aiohttp.ClientSession() as http, http.request(method, place.server.plane.admin + path, json=body) as got:
        return got.status, await got.json(content_type=None)


async def put(place: Shop, **body: Any) -> Json:
    status, answer = await send(place, "PUT", "/v1/switches", body)
    assert status == 200, answer
    return answer


def soon(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).isoformat()


def switch(value: str = "on", route: str = "*", **more: Any) -> Json:
    return {"route": route, "value": value, "reason": "because", **more}


async def group(place: Shop) -> Json:
    found: Json = await place.server.get("/v1/groups/default")
    return found


async def behind(place: Shop, *, is_behind: bool = True) -> Json:
    """Wait until the group is behind, or is not."""

    async def probe() -> Json | None:
        found = await group(place)
        return found if (found["behind"] is not None) is is_behind else None

    return await until(probe, within=5 * SLACK, what=f"behind: {is_behind}", interval=0.03)


async def endpoints(place: Shop, name: str = PRIMARY) -> list[str]:
    found = await group(place)
    version = await place.server.get(f"/v1/groups/default/versions/{found['seq']}")
    (resource,) = [each["resource"] for each in version["resources"] if (each["type"], each["name"]) == ("eds", name)]
    return [
        each["endpoint"]["address"]["socket_address"]["address"]
        for locality in resource.get("endpoints", [])
        for each in locality["lb_endpoints"]
    ]


async def served(place: Shop, name: str, *addresses: str) -> None:
    async def probe() -> bool:
        return await endpoints(place, name) == list(addresses)

    await until(probe, within=5 * SLACK, what=f"{name} has {addresses}", interval=0.03)


async def entries(place: Shop) -> list[Json]:
    """The audit entries about switches, oldest first."""
    found = (await place.server.get("/v1/audit?limit=1000"))["entries"]
    return [each for each in reversed(found) if each["action"] == "switch"]


async def test_read_only_publishes_nothing_and_tells_what_would_be_and_on_release_the_newest_goes_out(
    place: Shop,
) -> None:
    before = await group(place)
    answer = await put(place, read_only=switch())
    assert answer["read_only"]["value"] == "on"
    assert answer["read_only"]["by"] == "127.0.0.1"
    place.serve("orders", "10.0.0.7")
    first = (await behind(place))["behind"]
    assert first["reason"] == "ReadOnly"
    place.lag(150)
    await place.decided("degraded", reason="over-threshold")
    programmed = await place.said("Programmed", "False", "by 127.0.0.1: because")
    assert programmed["reason"] == "ReadOnly"
    now = await behind(place)
    assert (now["version"], now["seq"], now["created"]) == (before["version"], before["seq"], before["created"])
    assert now["behind"]["version"] not in {before["version"], first["version"]}
    assert await place.server.metric("tidegate_group_behind", group="default") == 1
    status = await tidegate("status", "--admin", place.server.plane.admin)
    kept_back = f"version {now['behind']['version'][:8]}, which is declared, is not served"
    assert f"group default is read-only, by 127.0.0.1: because; {kept_back}" in status
    versions = (await place.server.get("/v1/groups/default/versions"))["versions"]
    assert versions[0]["seq"] == before["seq"], "what is not served is no version"

    await put(place, read_only=switch("off"))
    after = await group(place)
    assert after["behind"] is None
    assert (after["version"], after["seq"]) == (now["behind"]["version"], before["seq"] + 1)
    assert after["origin"] == {"source": "switch", "change": "read_only by 127.0.0.1"}
    assert await place.clusters() == {PRIMARY, LITE}
    assert await endpoints(place) == ["10.0.0.7"]


async def test_read_only_refuses_rollbacks(place: Shop) -> None:
    await put(place, read_only=switch())
    status, problem = await send(place, "POST", "/v1/groups/default/rollback", {"to": 1, "reason": "slow"})
    assert status == 409
    assert "read-only since" in problem["detail"]


async def test_read_only_outlives_a_restart_and_what_was_built_and_not_published_goes_out_on_release(
    place: Shop,
) -> None:
    before = await group(place)
    await put(place, read_only=switch())
    place.serve("orders", "10.0.0.7")
    await behind(place)
    await place.server.restart()
    again = await behind(place)
    assert (again["version"], again["seq"]) == (before["version"], before["seq"])
    assert await endpoints(place) == ["10.0.0.1"]
    await put(place, read_only=switch("off"))
    assert (await group(place))["seq"] == before["seq"] + 1
    assert await endpoints(place) == ["10.0.0.7"]


async def test_freeze_all_keeps_routes_and_lets_endpoints_flow(place: Shop) -> None:
    await put(place, freeze=[switch()])
    assert (await place.route())["reason"] == "frozen"
    place.lag(150)
    place.declare(gateway(path="/elsewhere"))
    assert (await place.said("Programmed", "False", "frozen"))["reason"] == "Frozen"
    place.serve("orders", "10.0.0.7")
    await served(place, PRIMARY, "10.0.0.7")
    assert await place.clusters() == {PRIMARY}
    await place.decided("primary", reason="frozen", verdict="over")
    await put(place, freeze=[])
    await place.decided("degraded", reason="over-threshold")
    assert await place.clusters() == {PRIMARY, LITE}


async def test_freeze_all_outlives_a_restart(place: Shop) -> None:
    await put(place, freeze=[switch()])
    frozen = await group(place)
    await place.server.plane.stop()
    place.lag(150)
    place.declare(gateway(path="/elsewhere"))
    place.serve("orders", "10.0.0.7")
    await place.server.plane.start()
    await served(place, PRIMARY, "10.0.0.7")
    now = await group(place)
    for key in ("cds", "lds", "rds"):
        assert now["types"][key] == frozen["types"][key]
    await place.decided("primary", reason="frozen", verdict="over")
    await put(place, freeze=[])
    await place.decided("degraded")


async def test_freeze_of_a_route_keeps_that_route_and_the_rest_of_its_gateway_goes_on(place: Shop) -> None:
    await put(place, freeze=[switch(route=ROUTE)])
    place.lag(150)
    changed = gateway(path="/elsewhere")
    changed["spec"]["routes"][1]["path"] = "/plainer"
    place.declare(changed)

    async def paths() -> set[str]:
        found = await group(place)
        version = await place.server.get(f"/v1/groups/default/versions/{found['seq']}")
        (rds,) = [each["resource"] for each in version["resources"] if each["type"] == "rds"]
        return {
            str(route["match"].get("path_separated_prefix"))
            for host in rds["virtual_hosts"]
            for route in host["routes"]
        }

    async def probe() -> bool:
        return await paths() == {"/orders", "/plainer"}

    await until(probe, within=5 * SLACK, what="the other route has changed")
    await place.decided("primary", reason="frozen", verdict="over")
    assert (await place.said("Programmed", "False", "orders"))["reason"] == "Frozen"
    place.serve("orders", "10.0.0.7")
    await served(place, PRIMARY, "10.0.0.7")
    await place.server.restart()
    await place.decided("primary", reason="frozen", verdict="over")
    assert await probe(), "a restart changes nothing"
    await put(place, freeze=[])
    await place.decided("degraded")
    assert await paths() == {"/elsewhere", "/plainer"}


async def test_a_frozen_route_that_is_declared_no_more_stays_and_goes_with_its_gateway(place: Shop) -> None:
    await put(place, freeze=[switch(route=ROUTE)])
    bare = gateway()
    del bare["spec"]["routes"][0]
    place.declare(bare)
    assert (await place.said("Programmed", "False", "orders"))["reason"] == "Frozen"
    await place.decided("primary", reason="frozen")
    place.declare()

    async def gone() -> bool:
        return not await place.gateway()

    await until(gone, within=5 * SLACK, what="the gateway is gone")
    place.declare(bare)
    await place.decided("primary", reason="frozen")


async def test_forced_degradation_degrades_and_off_keeps_at_primary_and_the_one_route_goes_before_all(
    place: Shop,
) -> None:
    await put(place, degradation=[switch("forced")])
    await place.decided("degraded", reason="forced", lag=0)
    assert await place.clusters() == {PRIMARY, LITE}
    assert (await place.route("plain"))["decision"] == "primary", "it has nothing to degrade to"
    await put(place, degradation=[switch("forced"), switch("auto", ROUTE)])
    await place.decided("primary", reason="healthy")
    place.lag(150)
    await place.decided("degraded", reason="over-threshold")
    await put(place, degradation=[switch("off", ROUTE)])
    await place.decided("primary", reason="degradation-off", verdict="over")
    await place.server.restart()
    await place.decided("primary", reason="degradation-off", verdict="over")
    await put(place, degradation=[])
    await place.decided("degraded", reason="over-threshold")


async def test_a_switch_expires_by_itself_and_the_audit_log_says_so(place: Shop) -> None:
    await put(place, degradation=[switch("forced", ROUTE, expires=soon(1.5))])
    await place.decided("degraded", reason="forced")
    await place.decided("primary", reason="healthy")
    assert (await place.server.get("/v1/switches"))["degradation"] == []
    set_, expired = await entries(place)
    assert (set_["actor"], set_["target"], set_["reason"]) == ("127.0.0.1", f"degradation {ROUTE}", "because")
    assert (set_["before"], set_["after"]["value"]) == (None, "forced")
    assert (expired["actor"], expired["reason"], expired["after"]) == ("tidegate", "expired", None)
    assert expired["before"] == set_["after"]
    text = (await place.server.request("/v1/events?follow=false"))[1]
    assert text.count("event: switch") == 2
    assert f"id: {expired['id']}\n" in text


@pytest.mark.parametrize("name", ["read_only", "freeze", "degradation"])
async def test_what_expires_while_the_process_is_down_is_gone_and_told(place: Shop, name: str) -> None:
    wanted = switch("forced" if name == "degradation" else "on", expires=soon(3.0))
    await put(place, **{name: wanted if name == "read_only" else [wanted]})
    await place.server.plane.child.kill()
    await asyncio.sleep(3.0)
    await place.server.plane.start()
    await place.decided("primary", reason="healthy")
    answer = await place.server.get("/v1/switches")
    assert (answer["read_only"]["value"], answer["freeze"], answer["degradation"]) == ("off", [], [])
    assert (await entries(place))[-1]["reason"] == "expired while the process was down"
    place.serve("orders", "10.0.0.7")
    await served(place, PRIMARY, "10.0.0.7")


async def test_what_is_wrong_with_a_switch_is_refused_by_field_and_changes_nothing(place: Shop) -> None:
    wrong = {
        "read_only": {"value": "maybe", "reason": "x"},
        "freeze": [switch(route="shop/edge/gone"), switch(expires=soon(-1)), {"route": ROUTE}],
        "degradation": [switch("forced", ROUTE), switch("off", ROUTE)],
    }
    status, problem = await send(place, "PUT", "/v1/switches", wrong)
    assert status == 400
    assert [each["field"] for each in problem["errors"]] == [
        "read_only.value",
        "freeze[0].route",
        "freeze[1].expires",
        "freeze[2].reason",
        "degradation[1].route",
    ]
    assert await entries(place) == []


async def test_what_get_answers_can_be_put_and_changes_nothing(place: Shop) -> None:
    await put(place, freeze=[switch(route=ROUTE)], degradation=[switch("off")])
    before = await place.server.get("/v1/switches")
    assert await put(place, **before) == before
    assert len(await entries(place)) == 2
    assert await put(place, degradation=[]) == {**before, "degradation": []}, "keys that are not given stay"


async def test_the_commands_set_and_show_switches(place: Shop) -> None:
    admin = ("--admin", place.server.plane.admin)
    assert "no switch is set" in await tidegate("switches", *admin)
    told = await tidegate("switch", "freeze", ROUTE, "--reason", "a release", "--for", "1h", *admin)
    assert ROUTE in told
    told = await tidegate("switch", "degradation", "all", "off", "--reason", "the sampler lies", *admin)
    assert "freeze" in told
    shown = await tidegate("gateways", *admin)
    assert "the sampler lies" in shown
    assert "frozen" in shown
    assert "a release" in await tidegate("audit", *admin)
    assert f"freeze {ROUTE}: on by 127.0.0.1: a release" in await tidegate("events", *admin)
    await tidegate("switch", "degradation", "all", "--release", "--reason", "it is repaired", *admin)
    told = await tidegate("switch", "freeze", ROUTE, "--release", "--reason", "released", *admin)
    assert "no switch is set" in told
    assert [each["reason"] for each in await entries(place)][-2:] == ["it is repaired", "released"]
    assert await place.server.metric("tidegate_group_behind", group="default") == 0

"""Gateways and what else governs a group: a hold, native documents and pushed resources beside them, a crash."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.client import SLACK
from tests.conformance.wire import Variant
from tests.feature.restarts import on_disk, send
from tests.feature.shop import Shop, gateway, shop
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until
from xds_server.demo.world import cluster, listener
from xds_server.demo.yaml_files import write_documents

pytestmark = pytest.mark.timeout(120)

PRIMARY, LITE = "shop/orders/80", "shop/orders-lite/80"

Resources = dict[tuple[str, str], Json]


async def resources(place: Shop) -> Resources:
    """What is served, by type and name."""
    group = await place.server.get("/v1/groups/default")
    version = await place.server.get(f"/v1/groups/default/versions/{group['seq']}")
    return {(each["type"], each["name"]): each for each in version["resources"]}


async def served(place: Shop, holds: Callable[[Resources], bool], what: str) -> Resources:
    """Wait until what is served is so."""

    async def probe() -> Resources | None:
        found = await resources(place)
        return found if holds(found) else None

    return await until(probe, within=5 * SLACK, what=what)


async def test_a_hold_pins_routes_while_endpoints_flow_and_a_verdict_shows_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        good = (await place.server.get("/v1/groups/default"))["seq"]
        await send(place.server, "POST", "v1", "groups", "default", "rollback", to=str(good), reason="look at it")
        held = await place.said("Programmed", "False")
        assert held["reason"] == "Held"
        routes = (await resources(place))["rds", "http-8080"]["version"]

        place.lag(150)
        await place.decided("degraded", backend="shop/orders-lite:80", served=False)
        message = (await place.said("Degraded", "True"))["message"]
        assert message.startswith("not served, but what would be: route ")
        place.serve("orders", "10.0.0.9")
        found = await served(place, lambda each: "10.0.0.9" in str(each["eds", PRIMARY]), "the endpoint flows")
        assert found["rds", "http-8080"]["version"] == routes
        assert await place.clusters() == {PRIMARY}
        await place.server.plane.stop()
        await place.server.plane.start()
        await place.decided("degraded", lag=150, served=False)
        assert await place.clusters() == {PRIMARY}, "the hold outlives a restart"

        await send(place.server, "DELETE", "v1", "groups", "default", "rollback", reason="looked at")
        await served(place, lambda each: each["rds", "http-8080"]["version"] != routes, "the routes are those of now")
        assert await place.clusters() == {PRIMARY, LITE}
        await place.decided("degraded", served=True)
        assert (await place.said("Programmed", "False"))["reason"] == "NoNodes"
        entries = (await place.server.get("/v1/audit?limit=1000"))["entries"]
        told = [each["action"] for each in reversed(entries) if each["action"] not in {"version", "setting"}]
        assert told == ["rollback", "degradation", "release"]


async def test_native_and_pushed_resources_keep_their_names_from_gateways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [
        {"kind": "files", "path": str(tmp_path / "files"), "watch": True},
        {"kind": "push"},
    ]
    async with shop(tmp_path, monkeypatch, sources=sources) as place:
        before = await resources(place)
        native = [cluster(PRIMARY, type="STATIC", eds_cluster_config=None, connect_timeout="7s")]
        native += [listener("http-8080", "http-8080")]
        write_documents(place.server.plane.files / "native.yaml", native)
        found = await served(
            place, lambda each: "native.yaml" in str(each["lds", "http-8080"]["origin"]), "the listener"
        )
        assert found["cds", PRIMARY]["resource"]["connect_timeout"] == "7s"
        assert found["rds", "http-8080"]["version"] == before["rds", "http-8080"]["version"]
        group = await place.server.get("/v1/groups/default")
        assert {(each["type"], each["name"]): each["reason"] for each in group["left_out"]} == {
            ("cds", PRIMARY): "DuplicateName",
            ("lds", "http-8080"): "DuplicateName",
        }
        files = next(each for each in (await place.server.get("/v1/sources"))["sources"] if each["kind"] == "files")
        assert [each["reason"] for each in files["errors"]] == ["DuplicateName"] * 2
        assert all("gateways.yaml" in each["path"] for each in files["errors"])

        (place.server.plane.files / "native.yaml").unlink()
        await served(place, lambda each: each == before, "the gateway has its names again")

        pushed = cluster(LITE, type="STATIC", eds_cluster_config=None, connect_timeout="8s")
        await send(place.server, "PUT", "v1", "push", "me", "default", version="1", resources=[pushed])
        await served(place, lambda each: "8s" in str(each["cds", LITE]), "the pushed cluster")
        await send(place.server, "DELETE", "v1", "push", "me", "default")
        await served(place, lambda each: each == before, "the gateway has its name again")


async def test_a_crash_in_degraded_changes_nothing_and_the_dwell_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        place.declare(gateway(minDwell="6s"))
        place.lag(150)
        await place.decided("degraded")
        begun = time.monotonic()
        version = (await place.server.get("/v1/groups/default"))["version"]
        await _until_remembered(place)
        await on_disk(place.server)
        await place.server.plane.child.kill()

        place.lag("no broker answers")
        await place.server.plane.start()
        await place.decided("degraded", unknown="no broker answers")
        assert (await place.server.get("/v1/groups/default"))["version"] == version
        place.lag(0)
        while time.monotonic() - begun < 5:
            assert (await place.route())["decision"] == "degraded"
            await asyncio.sleep(0.1)
        await place.decided("primary")


async def test_fail_open_keeps_the_endpoints_over_a_crash_until_there_are_some_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        place.declare(gateway({"failOpen": True}))
        await place.decided("primary")
        place.serve("orders")
        place.serve("orders-lite")
        await place.decided("fail_open", backend="shop/orders:80")
        await served(place, lambda each: "10.0.0." not in str(each["eds", LITE]), "what nothing leads to is drained")
        version = (await place.server.get("/v1/groups/default"))["version"]
        await place.stored("fail_open")
        await on_disk(place.server)
        await place.server.plane.child.kill()
        await place.server.plane.start()
        await place.decided("fail_open", backend="shop/orders:80")
        assert (await place.server.get("/v1/groups/default"))["version"] == version
        async with place.server.clients() as clients:
            stream = await clients.stream(Variant.DELTA)
            stream.ask("eds", PRIMARY, LITE)
            await stream.until(lambda: stream.names_of("eds") == {PRIMARY, LITE}, what="both assignments")
            assert b"10.0.0.1" in stream.holds["eds"][PRIMARY]
            assert b"10.0.0." not in stream.holds["eds"][LITE]
            place.serve("orders", "10.0.0.3")
            await stream.until(lambda: b"10.0.0.3" in stream.holds["eds"][PRIMARY], what="the endpoint of now")
            assert b"10.0.0.1" not in stream.holds["eds"][PRIMARY]
        await place.decided("primary", backend="shop/orders:80")


async def _until_remembered(place: Shop) -> None:
    file = place.state / "gateways" / "decisions.json"

    async def probe() -> bool:
        return file.exists() and b'"degraded"' in file.read_bytes() and b'"over"' in file.read_bytes()

    await until(probe, within=5 * SLACK, what="verdict and decision are on disk")

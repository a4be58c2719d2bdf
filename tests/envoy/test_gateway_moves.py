"""What moves routes: edits, lag, endpoints that go, and a restart; no request fails of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.support.counts import long_or_short
from tests.support.fleet import SLACK, Fleet
from tests.support.gateway_fleet import declare, started, url_of
from tests.support.kafka_mock import mock_cluster
from tests.support.lagging import LaggingGroup
from tests.support.manifests import HTTP_NAME
from tests.support.watching import answers, ask
from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.envoys import Envoy
from xds_server.demo.load import Load
from xds_server.demo.manifests import backend, endpoint_slice, gateway, route, service
from xds_server.demo.polling import until

TOGGLES = long_or_short(20, 8)

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(180)]


async def test_a_route_moves_under_load_and_no_request_fails(fleet: Fleet, backends: list[Backend]) -> None:
    plane = fleet.tidegate()
    world = [*backend("blue", backends[0].port), *backend("green", backends[1].port)]

    async def lead_to(name: str, other: str) -> None:
        before = await plane.sequence()
        declare(plane, *world, gateway(route("shop", backendService=name, degradeService=other)))
        await plane.programmed(after=before, nodes=2)

    await plane.start()
    await fleet.both(plane.xds)
    await lead_to("blue", "green")
    urls = {envoy.node: await url_of(envoy) for envoy in fleet.envoys}
    async with Load(urls, rate=100.0) as load:
        for name, other in [("green", "blue"), ("blue", "green")] * 5:
            await lead_to(name, other)
            await asyncio.sleep(0.2)
    assert load.failed == 0, load.failures()
    assert all(set(tally.answered_by) == {"blue", "green"} for tally in load.tallies.values())


async def test_lag_moves_a_route_there_and_back_under_load_and_no_request_fails(
    fleet: Fleet, backends: list[Backend], tmp_path: Path
) -> None:
    shop = route("shop", backendService="blue", degradeService="green")
    shop |= {"kafkaConsumerGroup": "workers", "kafkaTopics": ["orders"], "kafkaLagThreshold": 100, "minDwell": "200ms"}
    with mock_cluster(tmp_path) as (_, bootstrap):
        group = LaggingGroup(bootstrap, "orders", "workers")
        await group.fill(500)
        await group.lag(0)
        kafka = {"clusters": {"default": {"bootstrap": bootstrap}}, "interval": "200ms"}
        plane = fleet.tidegate({"observers": {"kafka": kafka}})
        declare(plane, *backend("blue", backends[0].port), *backend("green", backends[1].port), gateway(shop))
        await plane.start()
        await fleet.both(plane.xds)
        urls = {envoy.node: await url_of(envoy) for envoy in fleet.envoys}
        async with Load(urls, rate=100.0) as load:
            for lag, name in [(101, "green"), (80, "blue")] * 3:
                before = await plane.sequence()
                await group.lag(lag)
                await plane.programmed(after=before, nodes=2, within=10 * SLACK)
                assert {(await ask(url))[1] for url in urls.values()} == {name}
    assert load.failed == 0, load.failures()


async def test_the_degrade_backend_loses_its_endpoints_and_gets_them_back_under_load_and_no_request_fails(
    fleet: Fleet, backends: list[Backend], tmp_path: Path
) -> None:
    shop = route("shop", backendService="blue", degradeService="green")
    shop |= {"kafkaConsumerGroup": "workers", "kafkaTopics": ["orders"], "kafkaLagThreshold": 100, "minDwell": "0s"}
    with mock_cluster(tmp_path) as (_, bootstrap):
        group = LaggingGroup(bootstrap, "orders", "workers")
        await group.fill(500)
        await group.lag(500)
        kafka = {"clusters": {"default": {"bootstrap": bootstrap}}, "interval": "200ms"}
        plane = fleet.tidegate({"observers": {"kafka": kafka}})
        declare(plane, *backend("blue", backends[0].port), service("green"), gateway(shop))
        declare(plane, endpoint_slice("green", port=backends[1].port), file="green.yaml")
        await plane.start()
        await fleet.both(plane.xds)
        urls = {envoy.node: await url_of(envoy) for envoy in fleet.envoys}
        await _all_answered_by(urls, "green")
        async with Load(urls, rate=100.0) as load:
            for _ in range(TOGGLES):
                (plane.files / "green.yaml").unlink()
                await _all_answered_by(urls, "blue")
                await asyncio.sleep(0.5)
                declare(plane, endpoint_slice("green", port=backends[1].port), file="green.yaml")
                await _all_answered_by(urls, "green")
                await asyncio.sleep(0.2)
            (plane.files / "green.yaml").unlink()
            for envoy in fleet.envoys:
                await until(
                    partial(_has_none, envoy, "green"), within=2 * SLACK, what=f"{envoy.node} has none of green"
                )
    assert load.failed == 0, load.failures()


async def test_the_primary_backend_is_replaced_while_its_endpoints_go_and_no_request_fails(
    fleet: Fleet, backends: list[Backend]
) -> None:
    plane = fleet.tidegate()

    def lead_to(name: str, other: str, at: int) -> None:
        gone = [service(other), endpoint_slice(name, port=backends[at].port), service(name)]
        declare(plane, *gone, gateway(route("shop", backendService=name, degradeService=other)))

    lead_to("blue", "green", 0)
    await plane.start()
    await fleet.both(plane.xds)
    urls = {envoy.node: await url_of(envoy) for envoy in fleet.envoys}
    async with Load(urls, rate=100.0) as load:
        for _ in range(TOGGLES):
            lead_to("green", "blue", 1)
            await _all_answered_by(urls, "green")
            lead_to("blue", "green", 0)
            await _all_answered_by(urls, "blue")
    assert load.failed == 0, load.failures()


async def _all_answered_by(urls: Mapping[str, str], name: str) -> None:
    for node, url in urls.items():
        await until(partial(answers, url, 200, name), within=10 * SLACK, what=f"{name} answers through {node}")


async def _has_none(envoy: Envoy, service_name: str) -> bool:
    return await envoy.endpoints(f"default/{service_name}/80") == set()


async def test_fail_open_goes_on_with_the_last_endpoints_where_it_is_asked_for(
    fleet: Fleet, backends: list[Backend]
) -> None:
    plane = fleet.tidegate()
    await _lose_endpoints(fleet, plane, backends[0])
    base = await url_of(fleet.envoys[0])
    assert await ask(f"{base}/open") == (200, "blue")
    declare(plane, endpoint_slice("blue", port=backends[1].port), file="slice.yaml")
    await until(partial(answers, f"{base}/open", 200, "green"), within=5 * SLACK, what="the endpoints of now")


async def test_fail_open_outlives_a_restart(fleet: Fleet, backends: list[Backend], tmp_path: Path) -> None:
    plane = fleet.tidegate({"state_dir": str(tmp_path / "state")})
    await _lose_endpoints(fleet, plane, backends[0])
    await plane.stop()
    await plane.start()
    fresh = await fleet.envoy(Mode.SOTW, plane.xds, node="fresh")
    base = await url_of(fresh)
    assert await ask(f"{base}/open") == (200, "blue")


async def _lose_endpoints(fleet: Fleet, plane: ControlPlane, blue: Backend) -> None:
    """Two gateways lead to a backend, one of them with `failOpen`; then its endpoints go away."""
    opened = gateway(route("open", "/open", backendService="blue"), policy={"failOpen": True})
    shut = gateway(route("shut", "/shut", backendService="blue"), name="shut")
    declare(plane, opened, shut, service("blue"))
    declare(plane, endpoint_slice("blue", port=blue.port), file="slice.yaml")
    base = await started(fleet, plane)
    assert await ask(f"{base}/open") == (200, "blue")
    other = await url_of(fleet.envoys[0], HTTP_NAME.replace("web", "shut")) + "/shut"
    assert await ask(other) == (200, "blue")
    (plane.files / "slice.yaml").unlink()
    await until(partial(answers, other, 503, "no-healthy-backend"), within=5 * SLACK, what="it is rejected there")

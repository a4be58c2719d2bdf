"""Routes move between clusters under load and no request fails; without a sequencer the same load fails."""

from __future__ import annotations

import time
from functools import partial

import pytest

from tests.support.counts import long_or_short
from tests.support.fleet import Fleet
from tests.support.naive import NaiveServer
from tests.support.publishers import (
    LISTENER,
    FilePublisher,
    NaivePublisher,
    move_back_and_forth,
    move_to_fresh,
    site,
)
from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode
from xds_server.demo.envoys import Envoy
from xds_server.demo.load import Load
from xds_server.demo.polling import until

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(240)]

FRESH, BACK_AND_FORTH = 100, 20
SECONDS = long_or_short(60.0, 24.0)
"""How long the load lasts; the moves are spread over it. CI runs 60."""

RATE = 220.0
"""Requests a second through each Envoy: some more than the 200 that are asked for."""


async def test_no_request_fails_in_100_moves_to_fresh_clusters_and_20_back_and_forth(
    fleet: Fleet, backends: list[Backend]
) -> None:
    plane = fleet.tidegate()
    publisher = FilePublisher(plane, nodes=2)
    await plane.start()
    envoys = await fleet.both(plane.xds)
    await publisher.publish(site("start", backends[0]))
    interval = SECONDS / (FRESH + BACK_AND_FORTH)
    async with Load(await fleet.urls(LISTENER), rate=RATE) as load:
        await move_to_fresh(publisher, backends, FRESH, interval)
        await move_back_and_forth(publisher, backends, BACK_AND_FORTH, interval)
        lasted = time.monotonic() - load.started
    assert load.failed == 0, load.failures()
    for tally in load.tallies.values():
        assert tally.sent >= 200 * lasted
        assert set(tally.answered_by) == {"blue", "green"}
    for envoy in envoys:
        assert await _holds_only(envoy, backends[1].name)
        assert not await envoy.dump("dynamic_warming_clusters")


async def test_the_same_load_fails_without_a_sequencer(fleet: Fleet, backends: list[Backend]) -> None:
    async with NaiveServer() as server:
        publisher = NaivePublisher(server)
        await publisher.publish(site("start", backends[0]))
        await fleet.envoy(Mode.SOTW, server.address)
        async with Load(await fleet.urls(LISTENER), rate=RATE) as load:
            await move_to_fresh(publisher, backends, 5, 0.3)
            await move_back_and_forth(publisher, backends, 5, 0.3)
    assert load.tallies["sotw"].statuses[503] > 0
    assert load.tallies["sotw"].statuses[200] > 0


async def test_k18_twenty_moves_that_wait_for_nothing(fleet: Fleet, backends: list[Backend]) -> None:
    plane = fleet.tidegate()
    await plane.start()
    envoys = await fleet.both(plane.xds)
    await FilePublisher(plane, nodes=2).publish(site(backends[1].name, backends[1]))
    async with Load(await fleet.urls(LISTENER), rate=RATE) as load:
        await move_back_and_forth(FilePublisher(plane, nodes=2, wait=False), backends, 20, 0.3)
        group = await plane.programmed(nodes=2)
    assert load.failed == 0, load.failures()
    assert group["counts"]["cds"] == 1
    for envoy in envoys:
        await until(partial(_holds_only, envoy, backends[1].name), within=2, what=f"{envoy.node} dropped the other")


async def _holds_only(envoy: Envoy, cluster: str) -> bool:
    active = await envoy.dump("dynamic_active_clusters")
    return [entry["cluster"]["name"] for entry in active] == [cluster]

"""Fleets: only groups with a limit are followed, each Envoy is one, and what changes is told once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.unit.status.gateway_world import report
from tests.unit.status.test_tracker import Clock, Node, tracker
from xds_server.derive.outcome import Outcome
from xds_server.ir.decision import GatewayReport
from xds_server.status.fleet_size import PACE, RETURN_WITHIN, SHRINK_AFTER
from xds_server.status.fleets import Fleets
from xds_server.status.replicas import Replicas, Report
from xds_server.status.share import Share

pytestmark = pytest.mark.looptime

GROUP = "default"


def limited(group: str = GROUP) -> GatewayReport:
    found = report()
    return replace(found, group=group, routes=tuple(replace(each, max_qps=10.0) for each in found.routes))


class World:
    def __init__(self, restored: Mapping[str, int] | None = None) -> None:
        loop = asyncio.get_running_loop()
        self.told: list[tuple[str, int]] = []
        self.tracker = tracker(Clock())
        self.replicas = Replicas("ours")
        self.fleets = Fleets(
            self.tracker,
            self.replicas,
            clock=loop.time,
            later=loop.call_later,
            tell=lambda sizes: self.told.extend(sizes.items()),
            restored=restored or {},
        )

    def report(self, found: GatewayReport | None) -> None:
        self.fleets.take(Outcome({report().key: found}))

    def join(self, *names: str, is_envoy: bool = True) -> list[Node]:
        nodes = [Node(name, GROUP, is_envoy=is_envoy) for name in names]
        for node in nodes:
            self.tracker.joined(node)
        return nodes


async def test_joins_and_leaves_are_told_damped() -> None:
    world = World()
    world.report(limited())
    assert world.fleets.shares() == {GROUP: 1.0}
    world.join(*"abcdefghijk")
    assert world.told == [(GROUP, size) for size in range(2, 12)]
    (twelfth,) = world.join("l")
    assert world.told[-1] == (GROUP, 11)
    await asyncio.sleep(PACE)
    assert world.told[10:] == [(GROUP, 12)]
    world.tracker.left(twelfth)
    await asyncio.sleep(SHRINK_AFTER - 0.1)
    assert len(world.told) == 11
    await asyncio.sleep(0.2)
    assert world.told[11:] == [(GROUP, 11)]
    assert world.fleets.shares() == {GROUP: 1 / 11}


async def test_only_envoys_count_and_each_of_them_once() -> None:
    world = World()
    world.report(limited())
    world.join("a", "a", "b")
    world.join("c", "d", "e", is_envoy=False)
    await asyncio.sleep(60)
    assert world.told == [(GROUP, 2)]
    assert world.tracker.envoys(GROUP) == 2


async def test_a_hot_restart_changes_nothing() -> None:
    world = World()
    world.report(limited())
    old, _ = world.join("a", "b")
    world.join("a")
    world.tracker.left(old)
    await asyncio.sleep(60)
    assert world.told == [(GROUP, 2)]


async def test_groups_without_a_limit_are_told_nothing() -> None:
    world = World()
    world.report(report())
    world.report(limited("other"))
    world.join("a", "b", "c")
    await asyncio.sleep(60)
    assert world.told == []
    assert world.fleets.shares() == {"other": 1.0}


async def test_a_limit_that_goes_and_comes_finds_its_fleet() -> None:
    world = World()
    nodes = world.join("a", "b", "c")
    world.report(limited())
    assert world.told == [(GROUP, 3)]
    world.report(report())
    assert world.fleets.shares() == {}
    for node in nodes[1:]:
        world.tracker.left(node)
    world.report(limited())
    assert world.fleets.shares() == {GROUP: 1 / 3}, "as derivation still has it"
    world.report(None)
    world.report(limited())
    await asyncio.sleep(RETURN_WITHIN + 3 * SHRINK_AFTER)
    assert world.told[-1] == (GROUP, 1)


async def test_a_restart_begins_with_what_was_served() -> None:
    world = World({GROUP: 4})
    world.report(limited())
    world.join("a", "b", "c", "d")
    await asyncio.sleep(60)
    assert world.told == []
    assert world.fleets.shares() == {GROUP: 0.25}


async def test_streams_that_end_with_the_process_are_no_departures() -> None:
    world = World()
    world.report(limited())
    nodes = world.join("a", "b", "c")
    world.tracker.left(nodes[0])
    world.fleets.close()
    world.tracker.left(nodes[1])
    world.report(None)
    await asyncio.sleep(60)
    assert world.told == [(GROUP, 2), (GROUP, 3)]


def told(envoys: int, *, instance: str = "a1", **more: object) -> Report:
    shares = {GROUP: Share("v", envoys, envoys, envoys=envoys)}
    return Report("replica-a", instance, 1.0, 1, whole=True, shares=shares, **more)  # type: ignore[arg-type]


async def test_envoys_of_other_replicas_count_also_when_these_are_silent() -> None:
    world = World()
    world.replicas.expect({"http://a": "a"})
    world.report(limited())
    world.join("a", "b")
    world.replicas.take("http://a", told(10))
    assert world.told[-1] == (GROUP, 12)
    world.replicas.lost("http://a", "gone")
    await asyncio.sleep(300)
    assert world.told[-1] == (GROUP, 12), "who can't be heard may still serve"
    world.replicas.expect({})
    await asyncio.sleep(RETURN_WITHIN - 1)
    assert world.told[-1] == (GROUP, 12), "they are on their way"
    world.join(*"cdefghijkl")
    await asyncio.sleep(60)
    assert world.told == [(GROUP, 2), (GROUP, 12)]


async def test_a_replica_that_begins_anew_gives_its_envoys_time() -> None:
    world = World()
    world.replicas.expect({"http://a": "a"})
    world.report(limited())
    world.join("a", "b")
    world.replicas.take("http://a", told(10))
    world.replicas.take("http://a", told(0, instance="a2"))
    await asyncio.sleep(RETURN_WITHIN - 1)
    assert world.told[-1] == (GROUP, 12)
    await asyncio.sleep(10)
    assert world.told[-1] == (GROUP, 2)


async def test_nothing_shrinks_while_a_replica_was_never_heard() -> None:
    world = World({GROUP: 12})
    world.replicas.expect({"http://a": "a"})
    world.report(limited())
    world.join("a", "b")
    await asyncio.sleep(300)
    assert world.told == []
    world.replicas.take("http://a", told(3))
    await asyncio.sleep(60)
    assert world.told[-1] == (GROUP, 5)

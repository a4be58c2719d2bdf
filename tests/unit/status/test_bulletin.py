"""What a replica tells: whoever asks again and again knows what who asks for everything is told."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from tests.unit.status.test_tracker import Node
from xds_server.ir.facts import Conclusion, RouteKey, Verdict
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.snapshot import Snapshot
from xds_server.status import bulletin as module
from xds_server.status.bulletin import AGAIN, PAUSE, Bulletin
from xds_server.status.events import EventBus
from xds_server.status.replicas import Report
from xds_server.status.share import NOTHING, Share
from xds_server.status.tracker import Tracker

pytestmark = pytest.mark.looptime


@pytest.fixture(autouse=True)
def as_on_a_quick_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking takes real time, and it rests accordingly."""
    monkeypatch.setattr(module, "_PART", 0)


class World:
    def __init__(self, groups: int = 0) -> None:
        self.groups = Groups(lambda: 1.0)
        for number in range(groups):
            self.publish(f"g{number}")
        self.tracker = Tracker(self.groups, EventBus(lambda: 1.0), lambda: 1.0)
        self.bulletin = Bulletin(self.groups, self.tracker, "pod-0", lambda: 5.0)

    def publish(self, name: str) -> None:
        group = self.groups.obtain(name)
        group.publish(Snapshot(name, group.current.seq + 1 if group.current else 1, 1.0))

    async def all(self) -> Report:
        return await self.bulletin.report("", 0, 0)


class Reader:
    """Somebody who asks again and again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.knows: dict[str, Share] = {}
        self.seen = ("", 0)
        self.answers = 0
        self.whole = 0

    async def ask(self, within: float = 2.0) -> Report:
        report = await self.world.bulletin.report(*self.seen, within)
        self.knows = {} if report.whole else self.knows
        self.knows.update(report.shares)
        self.knows = {group: share for group, share in self.knows.items() if share != NOTHING}
        self.seen = (report.instance, report.seq)
        self.answers += 1
        self.whole += report.whole
        return report


async def test_everything_at_first_then_what_has_changed() -> None:
    world = World(groups=3)
    reader = Reader(world)
    first = await reader.ask()
    assert first.whole
    assert first.shares.keys() == {"g0", "g1", "g2"}
    assert (first.replica, first.started, first.leader, first.leaving) == ("pod-0", 5.0, False, False)
    node = Node("n", "g1", synced=False)
    asking = asyncio.create_task(reader.ask())
    await asyncio.sleep(0.5)
    world.tracker.joined(node)
    began = asyncio.get_running_loop().time()
    second = await asking
    assert asyncio.get_running_loop().time() - began == pytest.approx(PAUSE, abs=0.05)
    assert not second.whole
    assert {name: (each.connected, each.acked, each.envoys) for name, each in second.shares.items()} == {
        "g1": (1, 0, 1)
    }


async def test_without_news_an_answer_comes_when_its_time_is_over() -> None:
    reader = Reader(World(groups=1))
    await reader.ask()
    began = asyncio.get_running_loop().time()
    answer = await reader.ask(within=2.0)
    assert asyncio.get_running_loop().time() - began == pytest.approx(2.0, abs=0.05)
    assert (dict(answer.shares), answer.whole) == ({}, False)


async def test_what_nobody_tells_is_found_by_looking_again() -> None:
    world = World(groups=1)
    reader = Reader(world)
    node = Node("n", "g0", synced=False)
    world.tracker.joined(node)
    await reader.ask()
    asking = asyncio.create_task(reader.ask(within=10))
    await asyncio.sleep(0.1)
    node.synced = True
    began = asyncio.get_running_loop().time()
    assert (await asking).shares["g0"].acked == 1
    assert asyncio.get_running_loop().time() - began <= AGAIN + 0.05


async def test_a_publish_is_news_though_no_node_has_moved() -> None:
    world = World(groups=1)
    reader = Reader(world)
    await reader.ask()
    before = reader.knows["g0"]
    asking = asyncio.create_task(reader.ask())
    await asyncio.sleep(0.1)
    group = world.groups.obtain("g0")
    seq = group.current.seq if group.current is not None else 0
    world.tracker.joined(Node("n", "g0"))
    await asking
    asking = asyncio.create_task(reader.ask())
    await asyncio.sleep(0.1)
    group.publish(Snapshot("g0", seq + 1, 2.0))
    await asking
    assert reader.knows["g0"].version == before.version, "equal content has an equal version"


async def test_to_whom_another_process_told_something_everything_is_told() -> None:
    world = World(groups=2)
    await world.all()
    assert (await world.bulletin.report("another", 1, 10)).whole
    assert (await world.bulletin.report(world.bulletin.instance, 10_000, 10)).whole


async def test_who_leads_is_told_by_each_answer_and_leaving_at_once() -> None:
    world = World(groups=1)
    reader = Reader(world)
    await reader.ask()
    world.bulletin.lead(lambda: True)
    assert (await reader.ask()).leader
    asking = asyncio.create_task(reader.ask())
    await asyncio.sleep(0.1)
    await world.bulletin.leave()
    last = await asking
    assert (last.leaving, last.leader) == (True, True)
    assert (await reader.ask()).leaving, "who asks later is told, too"


async def test_groups_that_are_gone_are_told_of_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GONE_KEPT", 2)
    world = World()
    slow, quick = Reader(world), Reader(world)
    world.groups.set_synced()
    nodes = [Node(f"n{number}", f"claimed-{number}") for number in range(5)]
    for node in nodes:
        world.groups.obtain(node.group)
        world.tracker.joined(node)
    await slow.ask()
    await quick.ask()
    for node in nodes:
        world.tracker.left(node)
        await asyncio.sleep(1)
        await quick.ask(within=0)
    assert quick.knows == {}
    assert quick.whole == 1
    await slow.ask(within=0)
    assert slow.knows == {}
    assert slow.whole == 2, "it was told of groups that nobody remembers"


@pytest.mark.parametrize("seed", range(20))
async def test_whoever_asks_again_and_again_knows_it_all(seed: int) -> None:
    chance = random.Random(seed)
    world = World(groups=4)
    reader, nodes = Reader(world), [Node(f"n{number}", f"g{number % 4}") for number in range(8)]
    connected: set[int] = set()
    for _ in range(60):
        number = chance.randrange(len(nodes))
        match chance.randrange(4):
            case 0 if number in connected:
                connected.discard(number)
                world.tracker.left(nodes[number])
            case 1 if number not in connected:
                connected.add(number)
                world.tracker.joined(nodes[number])
            case 2:
                nodes[number].synced = not nodes[number].synced
                world.tracker.completed(nodes[number])
            case _:
                world.publish(f"g{number % 4}")
        if chance.random() < 0.3:
            await reader.ask(within=chance.choice([0, 0.05, 1]))
    await asyncio.sleep(2 * PAUSE)
    await reader.ask(within=0)
    assert reader.knows == dict((await world.all()).shares)
    assert reader.whole == 1
    for number in range(4):
        assert reader.knows[f"g{number}"] == world.bulletin.share(f"g{number}")


async def test_two_thousand_groups_are_cheap() -> None:
    world = World(groups=2_000)
    nodes = [Node(f"n{number}", f"g{number}") for number in range(2_000)]
    for node in nodes:
        world.tracker.joined(node)
    reader = Reader(world)
    began = time.thread_time()
    await reader.ask()
    whole = time.thread_time() - began
    began = time.thread_time()
    for node in nodes[:100]:
        asking = asyncio.create_task(reader.ask())
        await asyncio.sleep(0)
        world.tracker.completed(node)
        node.synced = not node.synced
        await asking
    assert time.thread_time() - began < 10 * max(whole, 0.02), "a change costs what it touches"


async def test_opinions_are_told_as_they_are_when_somebody_looks() -> None:
    world = World(groups=1)
    reader = Reader(world)
    route = RouteKey("shop", "edge", "orders")
    over = Conclusion(Verdict.OVER, 5.0, was_over=True)
    says: dict[RouteKey, Conclusion] = {}
    world.bulletin.ask_for_opinions(says.get)
    world.bulletin.touch_routes([route])
    assert (await reader.ask()).opinions == {}
    says[route] = over
    asking = asyncio.create_task(reader.ask())
    await asyncio.sleep(0)
    world.bulletin.touch_routes([route])
    answer = await asking
    assert (answer.opinions, dict(answer.shares)) == ({route: over}, {})
    assert (await world.all()).opinions == {route: over}
    del says[route]
    asking = asyncio.create_task(reader.ask())
    await asyncio.sleep(0)
    world.bulletin.touch_routes([route])
    assert (await asking).opinions == {route: None}
    assert (await world.all()).opinions == {}

"""The pipeline after a start: sources that are not there hold up nobody who has a last good, and take nothing away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager

import pytest

from tests.unit.snapshot.test_last_good import batch, names, served, site, unit
from xds_server.derive.outcome import Outcome
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.events import EventKind
from xds_server.ir.facts import FactChanges
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.objects import ObjectKey, Standing
from xds_server.ir.origin import Origin
from xds_server.ir.switches import FrozenRoutes, Switches
from xds_server.snapshot.assemble import Assembler
from xds_server.snapshot.compile import Address
from xds_server.snapshot.derivation import Deriving, Round
from xds_server.snapshot.feed import Feed
from xds_server.snapshot.groups import Group, Groups
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.snapshot.snapshot import Snapshot
from xds_server.sources import turns
from xds_server.telemetry.metrics import Metrics
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.wire.resource import Resource


class Nothing:
    """Derives no resource, and says of each round that there is something to follow."""

    resources: Mapping[Address, Resource] = {}

    def update(self, _objects: Mapping[ObjectKey, Standing | None], _facts: FactChanges) -> Round:
        return Round(outcome=Outcome({GatewayKey("default", "gone"): None}))

    def govern(self, _switches: Switches, frozen: FrozenRoutes) -> FrozenRoutes:
        return frozen


class World:
    """A running pipeline with two feeds, and what it had stored and told."""

    def __init__(self, deriving: Deriving | None = None) -> None:
        self.groups = Groups(lambda: 1.0)
        self.kept: list[Snapshot] = []
        self.told: list[EventKind] = []
        self.pipeline = Pipeline(
            Assembler(decode, prune_routes, deriving=deriving),
            self.groups,
            Coalesce(0.001, 0.01),
            Metrics(),
            lambda kind, _data: self.told.append(kind),
            keep=self.kept.append,
        )
        self.files: Feed = self.pipeline.feed("files", "files")
        self.other: Feed = self.pipeline.feed("other", "files")

    def group(self) -> Group:
        group = self.groups.get("g")
        assert group is not None
        return group

    def current(self) -> Snapshot:
        """What group `g` is served."""
        current = self.group().current
        assert current is not None
        return current

    async def settled(self) -> None:
        """Wait until what was handed over is taken in."""
        await asyncio.sleep(0.3)


@asynccontextmanager
async def running(*restored: Snapshot) -> AsyncIterator[World]:
    world = World()
    if restored:
        world.pipeline.restore({"g": restored})
    task = asyncio.create_task(world.pipeline.run())
    yield world
    task.cancel()


def both() -> Snapshot:
    """A file from each of two sources."""
    return served(batch(unit("a.yaml", site("a"))), batch(unit("b.yaml", site("b"), source="other"), source="other"))


async def test_without_a_last_good_nothing_is_published_before_all_are_synced() -> None:
    async with running() as world:
        world.files.replace([unit("a.yaml", site("a"))])
        world.files.synced()
        await world.settled()
        assert list(world.groups) == []
        world.other.synced()
        await world.pipeline.synced.wait()
        assert names(world.current()) == {"a"}


async def test_a_source_that_is_away_holds_up_nobody_and_loses_nothing() -> None:
    async with running(both()) as world:
        assert (world.current().seq, world.groups.synced) == (7, False)
        world.files.replace([unit("a.yaml", site("new"))])
        world.files.synced()
        await world.settled()
        assert names(world.current()) == {"new", "b"}
        assert not world.groups.synced
        assert world.other.problems == [], "it has not spoken, so it can't be said to declare nothing"
        world.other.replace([unit("c.yaml", site("c"), source="other")])
        world.other.synced()
        await world.pipeline.synced.wait()
        assert names(world.current()) == {"new", "c"}
        assert [snapshot.seq for snapshot in world.kept] == [8, 9]


async def test_a_group_without_a_last_good_waits_for_all_sources_beside_one_that_has() -> None:
    async with running(both()) as world:
        origin = Origin("files", "/config/group=fresh/x.yaml")
        fresh = Unit("group=fresh/x.yaml", tuple(NativeDocument("fresh", each, origin) for each in site("x")))
        world.files.replace([unit("a.yaml", site("a")), fresh])
        world.files.synced()
        await world.settled()
        assert [group.name for group in world.groups] == ["g"]
        world.other.replace([unit("b.yaml", site("b"), source="other")])
        world.other.synced()
        await world.pipeline.synced.wait()
        assert [group.name for group in world.groups] == ["fresh", "g"]
        assert world.current().seq == 7, "equal content"


async def test_filling_in_is_no_publish() -> None:
    async with running(both()) as world:
        world.files.replace([unit("a.yaml", site("a"))])
        world.files.synced()
        world.other.replace([unit("b.yaml", site("b"), source="other")])
        world.other.synced()
        await world.pipeline.synced.wait()
        assert world.kept == []
        assert EventKind.VERSION not in world.told
        assert len(world.group().history()) == 1


async def test_what_follows_a_round_is_taken_in_steps_all_of_them_before_the_next_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With slices of no length others have a turn after each step; one that fails takes nothing from the others."""
    monkeypatch.setattr(turns, "SLICE", 0.0)
    world, told = World(Nothing()), list[str]()
    rounds = asyncio.Semaphore(0)

    def fails(_outcome: Outcome) -> Iterator[None]:
        told.append("fails")
        yield
        raise LookupError

    def follows(_outcome: Outcome) -> Iterator[None]:
        for number in range(3):
            asyncio.get_running_loop().call_soon(told.append, f"others after {number}")
            told.append(f"step {number}")
            if number == 1:
                world.pipeline.observe(FactChanges())
            yield
        rounds.release()

    world.pipeline.follow(fails)
    world.pipeline.follow(follows)
    task = asyncio.create_task(world.pipeline.run())
    world.files.synced()
    world.other.synced()
    for _ in range(2):
        await rounds.acquire()
    task.cancel()
    steps = [word for number in range(3) for word in (f"step {number}", f"others after {number}")]
    assert told[: 2 * (1 + len(steps))] == ["fails", *steps, "fails", *steps]


async def test_who_ends_in_the_middle_has_told_all_that_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SLICE", 0.0)
    world, told = World(Nothing()), list[int]()
    is_begun = asyncio.Event()

    def follows(_outcome: Outcome) -> Iterator[None]:
        for number in range(100):
            told.append(number)
            is_begun.set()
            yield

    world.pipeline.follow(follows)
    task = asyncio.create_task(world.pipeline.run())
    world.files.synced()
    world.other.synced()
    await is_begun.wait()
    assert len(told) < 100
    task.cancel()
    await asyncio.wait([task])
    assert told == [*range(100)]

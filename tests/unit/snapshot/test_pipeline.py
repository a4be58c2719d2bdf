"""The pipeline after a start: sources that are not there hold up nobody who has a last good, and take nothing away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.unit.snapshot.test_last_good import batch, names, served, site, unit
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.events import EventKind
from xds_server.ir.origin import Origin
from xds_server.snapshot.assemble import Assembler
from xds_server.snapshot.feed import Feed
from xds_server.snapshot.groups import Group, Groups
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.snapshot.snapshot import Snapshot
from xds_server.telemetry.metrics import Metrics
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes


class World:
    """A running pipeline with two feeds, and what it had stored and told."""

    def __init__(self) -> None:
        self.groups = Groups(lambda: 1.0)
        self.kept: list[Snapshot] = []
        self.told: list[EventKind] = []
        self.pipeline = Pipeline(
            Assembler(decode, prune_routes),
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

"""Killed at random moments during publishes: each start serves what was once served, whole, and the newest flushed."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from tests.conformance.documents import World, marked, service
from tests.conformance.server import Restartable
from tests.feature.restarts import bring_back, keeping, take_away
from tests.support.counts import long_or_short

CLUSTERS = 8


class Publisher:
    """Writes configurations one after the other; every resource of one has its number as a mark."""

    def __init__(self, server: Restartable, world: World) -> None:
        self._server = server
        self._world = world
        self.number = 0
        self.flushed = 0

    async def run(self, seconds: float) -> None:
        """Publish as fast as it goes, and note what is known to be on disk."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            self.number += 1
            names = [f"c{number}" for number in range(CLUSTERS)]
            documents = [document for name in names for document in service(name, self.number)]
            self._world.write("world", *documents, marked("sds", "cert", self.number))
            await asyncio.sleep(random.uniform(0.005, 0.04))
            stored = await self._server.metric("tidegate_state_stored_seq", group=self._world.group)
            self.flushed = max(self.flushed, int(stored))


async def _check(server: Restartable, world: World, publisher: Publisher, served: dict[int, str]) -> None:
    """What is served now is whole, was served before, and is not older than what was flushed."""
    group = await server.group(world)
    assert group["seq"] >= publisher.flushed
    content = await server.get(f"/v1/groups/{world.group}/versions/{group['seq']}")
    marks = {each["resource"]["alt_stat_name"] for each in content["resources"] if each["type"] == "cds"}
    assert len(marks) == 1, f"parts of several configurations: {marks}"
    assert group["counts"] == {"cds": CLUSTERS, "eds": CLUSTERS, "lds": 0, "rds": 0, "sds": 1}
    number = int(marks.pop().removeprefix("mark-").removesuffix(";"))
    assert 0 < number <= publisher.number
    for version in (await server.get(f"/v1/groups/{world.group}/versions"))["versions"]:
        known = served.setdefault(version["seq"], version["version"])
        assert known == version["version"], f"seq {version['seq']} is not what it was"
    publisher.flushed = group["seq"]


async def _kill_again_and_again(folder: Path, times: int) -> None:
    async with keeping(folder) as server:
        world = World(server.files, "g")
        publisher = Publisher(server, world)
        served: dict[int, str] = {}
        await publisher.run(0.3)
        await server.served(world)
        for _ in range(times):
            await publisher.run(random.uniform(0.05, 0.5))
            await server.plane.child.kill()
            away = take_away(server)
            await server.plane.start()
            # Numbers that were given and not flushed are given again.
            served = {seq: version for seq, version in served.items() if seq <= publisher.flushed}
            await _check(server, world, publisher, served)
            bring_back(server, away)


@pytest.mark.timeout(300)
async def test_killed_at_random_moments_of_publishes(tmp_path: Path) -> None:
    await _kill_again_and_again(tmp_path, long_or_short(20, 5))


@pytest.mark.soak
@pytest.mark.timeout(3000)
async def test_killed_two_hundred_times_during_publishes(tmp_path: Path) -> None:
    await _kill_again_and_again(tmp_path, 200)

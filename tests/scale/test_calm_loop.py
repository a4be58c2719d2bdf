"""Calm: a publish of 10,000 clusters with 100,000 endpoints does not hold the event loop, nor do its streams."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator

import pytest

from tests.conformance.wire import BOTH
from tests.scale.holds import GROSS, Holds, watched
from tests.scale.joined import Joined
from tests.scale.piped import Piped, piped, unit
from tests.scale.scaling import scaled
from xds_server import process
from xds_server.demo.polling import until
from xds_server.demo.world import assignment, cluster
from xds_server.ir.declared import Unit

PER_FILE = 100
STREAMS = 20

log = logging.getLogger(__name__)


def _units(count: int, mark: int) -> list[Unit]:
    """Clusters with ten endpoints each, `PER_FILE` to a file; with another mark, all of them are other ones."""
    made = []
    for first in range(0, count, PER_FILE):
        documents = []
        for name in _names(range(first, min(first + PER_FILE, count))):
            documents.append(cluster(name, alt_stat_name=f"mark-{mark}"))
            documents.append(assignment(name, [f"10.{mark}.0.{number}:8080" for number in range(10)]))
        made.append(unit(f"file-{first}", documents))
    return made


def _names(numbers: range) -> list[str]:
    return [f"cluster-{number:05}" for number in numbers]


async def _publish(server: Piped, units: list[Unit]) -> Holds:
    """Hand over everything at once, and wait until all streams have accepted it; how long the loop was held."""
    group = server.inside.groups.obtain("default")
    before = group.current

    async def done() -> bool:
        return group.current is not before and server.inside.in_sync()

    async with watched() as holds:
        server.feed.replace(units)
        await until(done, within=100, what="everything is accepted", interval=0.2)
    return holds


@pytest.fixture
def worlds(count: int) -> Iterator[tuple[list[Unit], list[Unit]]]:
    """Two worlds; what they are made of is of no interest to the collector, so that it finds the server's things only."""
    made = _units(count, 1), _units(count, 2)
    usual = gc.get_threshold()
    process.look_seldom()
    process.keep()
    yield made
    gc.unfreeze()
    gc.set_threshold(*usual)


@scaled("count", 1000, 10_000)
async def test_a_full_publish_does_not_hold_the_loop(count: int, worlds: tuple[list[Unit], list[Unit]]) -> None:
    async with piped() as server:
        for world in worlds:
            holds = await _publish(server, world)
            log.info("%d clusters: held %.3f s at most, %d times too long", count, holds.longest, holds.over)
            assert holds.longest < GROSS


@scaled("count", 1000, 10_000)
async def test_nor_do_its_streams(count: int, worlds: tuple[list[Unit], list[Unit]]) -> None:
    names = _names(range(count))
    async with piped() as server:
        await _publish(server, worlds[0])
        joined = [Joined(server.inside, BOTH[number % 2], number, names) for number in range(STREAMS)]
        await server.inside.until(server.inside.in_sync, "everybody has everything")
        holds = await _publish(server, worlds[1])
        log.info("%d clusters: held %.3f s at most, %d times too long", count, holds.longest, holds.over)
        assert not [each.failure for each in joined if each.failure]
        assert holds.longest < GROSS
        for each in joined:
            each.close()

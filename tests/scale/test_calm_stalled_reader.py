"""Calm: a reader that stalls among many delays nobody, and the server keeps nothing for it but the newest."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

import pytest

from tests.conformance.client import connect
from tests.conformance.documents import World, marked
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import BOTH, Variant
from tests.scale.light import Light
from tests.scale.memory import resident
from tests.scale.scaling import scaled
from tests.support.fleet import SLACK
from xds_server.demo.world import Document

STALLED = 10
UPDATES, SIZE = 20, 256 * 1024
KEPT = 2
"""How many times its size an update may cost more in memory than without stalled readers: the history has it anyway.

An answer that was kept for each stalled reader would cost `STALLED` times its size.
"""

log = logging.getLogger(__name__)


def _big(mark: int) -> Document:
    document = marked("cds", "big", mark)
    document["metadata"] = {"filter_metadata": {"padding": {"bytes": "x" * SIZE}}}
    return document


async def _update(world: World, readers: Sequence[Light], mark: int) -> float:
    """Change the cluster; the seconds until all readers have it."""
    started = time.monotonic()
    world.write("big", _big(mark))
    await asyncio.gather(*(stream.holding("cds", {"big": mark}, within=20) for stream in readers))
    return time.monotonic() - started


async def _updates(
    server: Restartable, world: World, readers: Sequence[Light], marks: Sequence[int]
) -> tuple[float, float]:
    """Change the cluster several times: the median of the seconds, and what a change costs in memory, in its size."""
    before = resident(server.plane.child.pid)
    seconds = [await _update(world, readers, mark) for mark in marks]
    return median(seconds), (resident(server.plane.child.pid) - before) / len(marks) / SIZE


async def _stream(server: Restartable, number: int, variant: Variant, stack: AsyncExitStack) -> Light:
    channel = await stack.enter_async_context(connect(server.xds))
    stream = await stack.enter_async_context(Light(channel, variant, f"n-{number}"))
    stream.ask("cds")
    return stream


@pytest.mark.parametrize("variant", BOTH)
@scaled("count", 200, 1000)
async def test_stalled_readers_delay_nobody(count: int, variant: Variant, tmp_path: Path) -> None:
    async with restartable(tmp_path) as server, AsyncExitStack() as stack:
        world = World(server.files, "default")
        streams = [await _stream(server, number, variant, stack) for number in range(count)]
        for mark in (1, 2):
            await _update(world, streams, mark)
        alone, usual = await _updates(server, world, streams, range(3, 13))
        stalled, readers = streams[:STALLED], streams[STALLED:]
        for stream in stalled:
            stream.reading.clear()
        for mark in range(13, 17):
            await _update(world, readers, mark)
        together, grown = await _updates(server, world, readers, range(17, 17 + UPDATES))
        log.info("alone %.2f s, %.1f kept; with stalled ones %.2f s, %.1f kept", alone, usual, together, grown)
        assert together < 2 * alone + 0.2 * SLACK
        assert grown < usual + KEPT
        for stream in stalled:
            stream.counts.clear()
            stream.reading.set()
            await stream.holding("cds", {"big": 16 + UPDATES}, within=5 * SLACK)
            # What was on its way when it stalled and the newest, nothing in between.
            assert stream.counts.total() <= 3

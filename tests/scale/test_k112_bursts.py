"""K112: bursts are folded, the last state is delivered, and a lone edit is not delayed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, restartable
from tests.conformance.wire import BOTH, Variant
from tests.scale.light import Light
from tests.scale.piped import piped
from tests.scale.scaling import scaled
from tests.support.fleet import SLACK
from xds_server.demo.world import Document
from xds_server.snapshot.pipeline import Coalesce

Write = Callable[[str, Document], None]

TYPES = ("cds", "eds", "sds")
EVERY = 0.005
"""Seconds from edit to edit: 1,000 in 5 s."""


async def _open(clients: Clients, stack: AsyncExitStack, variant: Variant, write: Write) -> Light:
    """A stream that holds one resource of each type."""
    stream = Light(await clients.channel(), variant, "n")
    await stack.enter_async_context(stream)
    for key in TYPES:
        write(key, marked(key, "a", 0))
        stream.ask(key, "a")
    for key in TYPES:
        await stream.holding(key, {"a": 0})
    stream.counts.clear()
    return stream


async def _burst(stream: Light, write: Write, edits: int) -> None:
    """Edit each type in turn; what arrives is bounded by the time until all is there, and ends with the last state.

    A burst is over when nothing came for the quiet time, so each pause of the test's own allows one answer more.
    """
    times = [time.monotonic()]
    for mark in range(1, edits + 1):
        key = TYPES[mark % len(TYPES)]
        write(key, marked(key, "a", mark))
        await asyncio.sleep(max(0.0, times[0] + mark * EVERY - time.monotonic()))
        times.append(time.monotonic())
    for mark in range(edits - len(TYPES) + 1, edits + 1):
        await stream.holding(TYPES[mark % len(TYPES)], {"a": mark})
    ended = time.monotonic()
    coalesce = Coalesce()
    pauses = sum(later - earlier > coalesce.quiet for earlier, later in pairwise(times))
    most = (ended - times[0]) / coalesce.most + 2 + pauses
    assert max(stream.counts.values()) <= most


async def _lone(stream: Light, write: Write) -> None:
    took = []
    for number in range(3):
        await asyncio.sleep(0.5)
        started = time.monotonic()
        write("eds", marked("eds", "a", f"lone{number}"))
        await stream.holding("eds", {"a": f"lone{number}"})
        took.append(time.monotonic() - started)
    assert min(took) < 0.3 * SLACK, "the quickest: the machine may be busy"


@pytest.mark.parametrize("variant", BOTH)
@scaled("edits", 100, 1000)
async def test_k112_bursts_of_a_feed(edits: int, variant: Variant) -> None:
    async with piped() as server, AsyncExitStack() as stack:
        stream = await _open(server.inside.clients(stack), stack, variant, server.write)
        await _burst(stream, server.write, edits)
        await _lone(stream, server.write)


@scaled("edits", 100, 1000)
async def test_k112_bursts_of_files(edits: int, tmp_path: Path) -> None:
    async with restartable(tmp_path) as server, AsyncExitStack() as stack:
        write = World(server.files, "default").write
        stream = await _open(Clients(server.xds, stack), stack, Variant.DELTA, write)
        await _burst(stream, write, edits)
        await _lone(stream, write)

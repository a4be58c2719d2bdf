"""A client that does not read holds up nobody, is not sent what is outdated, and goes on where the others are."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

import pytest

from tests.conformance.client import Stream
from tests.conformance.documents import marked
from tests.conformance.wire import BOTH, Variant
from tests.feature.inprocess import Inside, inside
from xds_server.demo.world import Document

STREAMS, UPDATES, SIZE = 50, 10, 512 * 1024


def _big(mark: int) -> Document:
    document = marked("cds", "big", mark)
    document["metadata"] = {"filter_metadata": {"padding": {"bytes": "x" * SIZE}}}
    return document


async def _update(server: Inside, readers: list[Stream], mark: int) -> float:
    """Publish a big cluster; seconds until all readers have it."""
    started = time.monotonic()
    server.publish([_big(mark)])
    await asyncio.gather(*(stream.holding("cds", {"big": mark}, within=10) for stream in readers))
    return time.monotonic() - started


@pytest.mark.parametrize("variant", BOTH)
async def test_a_stalled_reader_delays_nobody(variant: Variant) -> None:
    async with inside() as server, AsyncExitStack() as stack:
        server.publish([_big(0)])
        clients = server.clients(stack)
        streams = [await clients.stream(variant) for _ in range(STREAMS)]
        for stream in streams:
            stream.ask("cds")
        await asyncio.gather(*(stream.holding("cds", {"big": 0}, within=10) for stream in streams))
        alone = min([await _update(server, streams, mark) for mark in range(1, 4)])
        stalled, readers = streams[0], streams[1:]
        stalled.reading.clear()
        times = [await _update(server, readers, mark) for mark in range(4, 4 + UPDATES)]
        assert sorted(times)[len(times) // 2] < 3 * alone + 0.2
        seen = len(stalled.received)
        stalled.reading.set()
        last = 3 + UPDATES
        await stalled.holding("cds", {"big": last}, within=5)
        assert len(stalled.received) <= seen + 3, "what came in between is not sent"

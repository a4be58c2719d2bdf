"""A stream keeps little of its node: Envoy 1.40 sends 61 KB of it, with each request if it is not told otherwise."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from contextlib import AsyncExitStack

import pytest

from tests.conformance.client import Stream, accept
from tests.conformance.documents import marked
from tests.conformance.wire import BOTH, Received, Variant, node_of
from tests.feature.inprocess import inside

STREAMS, ROUNDS = 200, 3


def _forget(stream: Stream, response: Received) -> None:
    """Accept, and keep nothing on the client's side, which is in this process too."""
    accept(stream, response)
    stream.received.clear()


async def _kept(variant: Variant, node_bytes: int, count: int = STREAMS) -> float:
    """Bytes that Python keeps for each stream, the client's end included."""
    async with inside() as server, AsyncExitStack() as stack:
        server.publish([marked("cds", "a", 0)])
        channel = await server.clients(stack).channel()
        before = _traced()
        for number in range(count):
            node = node_of(f"n-{number}", metadata={"extensions": "x" * node_bytes})
            stream = Stream(channel, variant, node, node_always=True, answer=_forget)
            await stack.enter_async_context(stream)
            for key in ("cds", "lds", "eds"):
                stream.ask(key, "a")
        await server.until(lambda: server.streams() == count, "all are there")
        for mark in range(1, ROUNDS):
            server.publish([marked("cds", "a", mark)])
            await server.until(server.in_sync, "all in sync")
            await asyncio.sleep(0)
        return (_traced() - before) / count


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("variant", BOTH)
async def test_a_stream_keeps_nothing_of_a_big_node(variant: Variant) -> None:
    tracemalloc.start()
    try:
        await _kept(variant, 100, 20)  # What is made once is made here.
        small, big = await _kept(variant, 100), await _kept(variant, 61_000)
    finally:
        tracemalloc.stop()
    assert big < small + 15_000, (small, big)
    assert small < 100_000, small

"""Calm: what is larger than 4 MB reaches clients that take 4 MB at most, as gRPC's default has it, in several answers."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import grpc.aio
import pytest

from tests.conformance.client import QUIET, Stream
from tests.conformance.documents import marked
from tests.conformance.wire import BOTH, Variant
from tests.feature.inprocess import inside
from tests.support.fleet import SLACK
from xds_server.demo.world import Document, assignment

DEFAULT = 4 * 1024 * 1024
"""What gRPC takes in one message when nothing else is said."""

LIMIT = (("grpc.use_local_subchannel_pool", 1),)
"""The options of a client that has none of its own for the size of messages."""

ASSIGNMENTS = 10_500
ENDPOINTS = [f"192.168.100.{100 + number}:8080" for number in range(10)]
LARGE = 200
"""Resources of other types, each with `PADDING` bytes."""

PADDING = 40_000


def _endpoints() -> list[Document]:
    return [
        assignment(f"namespace-of-usual-length/service-of-usual-length-{number:05}/8080", ENDPOINTS)
        for number in range(ASSIGNMENTS)
    ]


def _large(key: str) -> list[Document]:
    return [marked(key, f"{key}-{number}", "x" * PADDING) for number in range(LARGE)]


async def _stream(target: str, variant: Variant, stack: AsyncExitStack) -> Stream:
    """A stream of a client with gRPC's own limits."""
    channel = await stack.enter_async_context(grpc.aio.insecure_channel(target, options=LIMIT))
    return await stack.enter_async_context(Stream(channel, variant, "n"))


@pytest.mark.parametrize("variant", BOTH)
@pytest.mark.parametrize("key", ["eds", "rds", "sds"])
async def test_large_answers_are_split(variant: Variant, key: str) -> None:
    documents = _endpoints() if key == "eds" else _large(key)
    names = {str(each.get("cluster_name") or each["name"]) for each in documents}
    async with inside() as server, AsyncExitStack() as stack:
        server.publish(documents)
        stream = await _stream(server.xds, variant, stack)
        stream.ask(key, *names)
        await stream.until(lambda: stream.names_of(key) == names, within=20 * SLACK, what=f"all of {key}")
        assert sum(answer.size for answer in stream.received) > DEFAULT
        await server.until(server.in_sync, "everything is accepted")
        count = len(stream.received)
        server.publish([marked(key, "other", 1)], file="other")
        await asyncio.sleep(QUIET)
        assert len(stream.received) == count


@pytest.mark.parametrize("key", ["cds", "lds"])
async def test_large_answers_of_whole_types_are_split_in_delta(key: str) -> None:
    """State of the world has no way to split these: what a response does not hold is gone."""
    async with inside() as server, AsyncExitStack() as stack:
        server.publish(_large(key))
        stream = await _stream(server.xds, Variant.DELTA, stack)
        stream.ask(key)
        await stream.until(lambda: len(stream.names_of(key)) == LARGE, within=10 * SLACK)
        await server.until(server.in_sync, "everything is accepted")

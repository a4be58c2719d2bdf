"""Calm: limits on streams, names and the size of requests answer with clear statuses, and disturb nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import grpc
import pytest
import pytest_asyncio

from tests.conformance.client import Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Restartable, restartable
from tests.conformance.wire import BOTH, Variant
from xds_server.demo.polling import until

STREAMS, NAMES, SIZE = 20, 100, 64 * 1024
SETTINGS = {"xds": {"max_streams": STREAMS, "max_names": NAMES, "max_request_bytes": SIZE}}
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def limited(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Restartable]:
    """A server with low limits, set as a user sets them."""
    async with restartable(tmp_path_factory.mktemp("limited"), SETTINGS) as server:
        World(server.files, "default").write("a", marked("eds", "a", 1))
        yield server


async def _good(clients: Clients, number: int) -> Stream:
    """A stream that has what it wants."""
    stream = await clients.stream(BOTH[number % 2])
    stream.ask("eds", "a")
    await stream.holding("eds", {"a": 1})
    return stream


async def test_more_streams_than_allowed(limited: Restartable) -> None:
    async with AsyncExitStack() as stack:
        World(limited.files, "default").write("a", marked("eds", "a", 1))
        clients = Clients(limited.xds, stack)
        async with AsyncExitStack() as leaving:
            await _good(Clients(limited.xds, leaving), 0)
            good = [await _good(clients, number) for number in range(STREAMS - 1)]
            for variant in BOTH:
                code, details = await (await clients.stream(variant)).end()
                assert code is EXHAUSTED
                assert f"{STREAMS} streams" in details
                assert "xds.max_streams" in details
        assert await limited.metric("tidegate_requests_rejected_total", reason="streams") == 2
        # One has left, so there is room for one.
        await until(lambda: _has_left(limited), within=5, what="a stream has ended")
        await _good(clients, 1)
        World(limited.files, "default").write("a", marked("eds", "a", 2))
        for stream in good:
            await stream.holding("eds", {"a": 2})
        World(limited.files, "default").write("a", marked("eds", "a", 1))


async def _has_left(server: Restartable) -> bool:
    nodes = (await server.get("/v1/nodes?connected=true"))["nodes"]
    return len(nodes) < STREAMS


@pytest.mark.parametrize("variant", BOTH)
async def test_more_names_than_allowed(limited: Restartable, variant: Variant) -> None:
    async with limited.clients() as clients:
        good = await _good(clients, 0)
        enough = await clients.stream(variant)
        enough.ask("eds", "a", *(f"x-{number}" for number in range(NAMES - 1)))
        await enough.holding("eds", {"a": 1})
        enough.ask("eds", "a", *(f"x-{number}" for number in range(NAMES)))
        code, details = await enough.end()
        assert code is EXHAUSTED
        assert str(NAMES) in details
        assert "xds.max_names" in details
        await good.quiet()


@pytest.mark.parametrize("variant", BOTH)
async def test_a_larger_request_than_allowed(limited: Restartable, variant: Variant) -> None:
    async with limited.clients() as clients:
        good = await _good(clients, 0)
        large = await clients.stream(variant)
        large.ask("eds", *(f"{number}".ljust(1000, "x") for number in range(SIZE // 1000 + 1)))
        code, details = await large.end()
        assert code is EXHAUSTED
        assert str(SIZE) in details
        await good.quiet()

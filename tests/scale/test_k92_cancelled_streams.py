"""K92: streams that are cancelled leave nothing behind: no task, watch, node or connection, and no memory."""

from __future__ import annotations

import asyncio
import gc
import logging
import stat
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from tests.conformance.client import connect
from tests.conformance.documents import World, marked
from tests.conformance.server import restartable
from tests.conformance.wire import BOTH, MAIN, Variant, node_of
from tests.feature.inprocess import Inside, inside
from tests.scale.light import Light
from tests.scale.memory import resident
from tests.scale.scaling import scaled
from xds_server.stream.session import Session

log = logging.getLogger(__name__)

AT_ONCE = 25
STEP = 1000
PARTS = 20
NODES = 50
"""A fleet is finite: the same nodes come back."""


class Passing(grpc.aio.ServerInterceptor):
    """Looks at each call, as an interceptor for authorization or tracing does."""

    def __init__(self) -> None:
        self.seen = 0

    async def intercept_service(self, continuation: Any, details: grpc.HandlerCallDetails) -> Any:
        self.seen += 1
        return await continuation(details)


async def _cycle(channel: grpc.aio.Channel, variant: Variant, node: str, wanted: int) -> None:
    """Open a stream, ask for five types, read until `wanted` answers have come, cancel."""
    async with Light(channel, variant, node_of(node)) as stream:
        for key in MAIN:
            stream.ask(key, "a")
        await stream.until(lambda: stream.counts.total() >= wanted)


async def _cycles(channels: Sequence[grpc.aio.Channel], count: int) -> None:
    async def work(channel: grpc.aio.Channel, first: int) -> None:
        for number in range(first, count, len(channels)):
            await _cycle(channel, BOTH[number % 2], f"n-{number % NODES}", number % 6)

    await asyncio.gather(*(work(channel, first) for first, channel in enumerate(channels)))


async def _strangers(server: Inside, first: int, count: int) -> None:
    """Nodes that were never there before, each on a connection of its own, with a stream of either variant."""

    async def come_and_go(number: int) -> None:
        async with connect(server.xds) as channel:
            for variant in BOTH:
                await _cycle(channel, variant, f"stranger-{number}", number % 6)

    await asyncio.gather(*(come_and_go(number) for number in range(first, first + count)))


async def _channels(target: str, stack: AsyncExitStack) -> list[grpc.aio.Channel]:
    return [await stack.enter_async_context(connect(target)) for _ in range(AT_ONCE)]


def _sockets() -> int:
    """How many sockets this process has open: the server's and the clients' ends of all connections (Linux)."""
    return sum(_is_socket(entry) for entry in Path("/proc/self/fd").iterdir())


def _is_socket(entry: Path) -> bool:
    try:
        return stat.S_ISSOCK(entry.stat().st_mode)
    except FileNotFoundError:
        return False  # Closed since the listing was made; the descriptor of the listing itself is such a one.


async def _left(server: Inside) -> dict[str, int]:
    """What is there of each kind once everything has settled."""
    await server.until(lambda: not server.streams(), "no streams")
    await asyncio.sleep(0.2)
    gc.collect()
    return {
        "tasks": len(asyncio.all_tasks()),
        "streams": server.streams(),
        "watches": sum(len(group._listeners) for group in server.groups),
        "ends": len(server.server._services._ends),
        "sessions": sum(isinstance(each, Session) for each in gc.get_objects()),
        "timers": sum(not timer.cancelled() for timer in asyncio.get_running_loop()._scheduled),  # type: ignore[attr-defined]
    }


@pytest.fixture
def further(monkeypatch: pytest.MonkeyPatch) -> Passing:
    """An interceptor in the servers that are made after it."""
    passing, made = Passing(), grpc.aio.server

    def make(**named: Any) -> grpc.aio.Server:
        return made(interceptors=(passing,), **named)

    monkeypatch.setattr(grpc.aio, "server", make)
    return passing


@scaled("count", 1000, 20_000)
async def test_k92_nothing_is_left_behind(count: int, caplog: pytest.LogCaptureFixture) -> None:
    await _come_and_go(count)
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR], caplog.text


@scaled("count", 1000, 20_000)
async def test_k92_with_an_interceptor(count: int, further: Passing, caplog: pytest.LogCaptureFixture) -> None:
    await _come_and_go(count)
    assert further.seen > count // 2  # Some are cancelled before they are a call.
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR], caplog.text


async def _come_and_go(count: int) -> None:
    """`count` streams on the same connections; publishes go on all the while."""
    async with inside() as server, AsyncExitStack() as stack:
        server.publish([marked(key, "a", 0) for key in MAIN])
        channels = await _channels(server.xds, stack)
        await _cycles(channels, 2 * AT_ONCE)
        before = await _left(server)
        for mark in range(1, PARTS + 1):
            server.publish([marked(key, "a", mark) for key in MAIN])
            await _cycles(channels, count // PARTS)
        _check(before, await _left(server))


@scaled("count", 2000, 20_000)
async def test_k92_connections_of_strangers(count: int, caplog: pytest.LogCaptureFixture) -> None:
    """`count` streams, two on each connection; a publish falls into every batch."""
    async with inside() as server:
        at_rest = _sockets()
        server.publish([marked(key, "a", 0) for key in MAIN])
        await _strangers(server, 0, 2 * AT_ONCE)
        before = await _left(server)
        for first in range(2 * AT_ONCE, 2 * AT_ONCE + count // 2, AT_ONCE):
            visits = asyncio.create_task(_strangers(server, first, AT_ONCE))
            await asyncio.sleep(0)
            server.publish([marked(key, "a", first) for key in MAIN])
            await visits
        _check(before, await _left(server))
        await server.until(lambda: _sockets() <= at_rest, "no connection is left")
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR], caplog.text


def _check(before: dict[str, int], after: dict[str, int]) -> None:
    """Nothing is there that was not there `before`."""
    assert after.pop("timers") <= before.pop("timers") + 2
    assert after == before
    assert before["streams"] == before["watches"] == before["ends"] == 0


@scaled(("count", "settled", "most"), (2000, 1000, 5000), (60_000, 20_000, 200))
async def test_k92_memory_stays(count: int, settled: int, most: int, tmp_path: Path) -> None:
    """Growth in bytes per stream, once `settled` streams have come and gone; the short form still warms up.

    The collector comes seldom, so that memory goes up and down: peaks are compared.
    """
    async with restartable(tmp_path) as server, AsyncExitStack() as stack:
        World(server.files, "default").write("all", *(marked(key, "a", 1) for key in MAIN))
        channels = await _channels(server.xds, stack)
        sizes: list[int] = []
        for _ in range(count // STEP):
            await _cycles(channels, STEP)
            sizes.append(resident(server.plane.child.pid))
        log.info("memory after each %d streams: %s", STEP, sizes)
        early, late = sizes[: settled // STEP], sizes[settled // STEP :]
        assert (max(late[-10:]) - max(early[-10:])) / (count - settled) < most

"""K92: streams that are cancelled leave nothing behind: no task, watch, node or connection, and no memory."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from tests.conformance.client import connect
from tests.conformance.documents import World, marked
from tests.conformance.server import restartable
from tests.conformance.wire import BOTH, MAIN, node_of
from tests.feature.inprocess import Inside, inside
from tests.scale.light import Light
from tests.scale.memory import resident
from tests.scale.scaling import scaled
from xds_server.stream.session import Session

AT_ONCE = 25
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


async def _cycle(channel: grpc.aio.Channel, number: int) -> None:
    """Open a stream, ask for five types, read until a number of answers have come, cancel."""
    wanted = number % 6
    async with Light(channel, BOTH[number % 2], node_of(f"n-{number % NODES}")) as stream:
        for key in MAIN:
            stream.ask(key, "a")
        await stream.until(lambda: stream.counts.total() >= wanted)


async def _cycles(channels: Sequence[grpc.aio.Channel], count: int) -> None:
    async def work(channel: grpc.aio.Channel, first: int) -> None:
        for number in range(first, count, len(channels)):
            await _cycle(channel, number)

    await asyncio.gather(*(work(channel, first) for first, channel in enumerate(channels)))


async def _channels(target: str, stack: AsyncExitStack) -> list[grpc.aio.Channel]:
    return [await stack.enter_async_context(connect(target)) for _ in range(AT_ONCE)]


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


@pytest.mark.parametrize("interceptor", [None, Passing])
@scaled("count", 1000, 20_000)
async def test_k92_nothing_is_left_behind(
    count: int,
    interceptor: type[Passing] | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Publishes go on all the while."""
    interceptors = [interceptor()] if interceptor else []
    monkeypatch.setattr(grpc.aio, "server", partial(grpc.aio.server, interceptors=interceptors))
    async with inside() as server, AsyncExitStack() as stack:
        server.publish([marked(key, "a", 0) for key in MAIN])
        channels = await _channels(server.xds, stack)
        await _cycles(channels, 2 * AT_ONCE)
        before = await _left(server)
        for mark in range(1, PARTS + 1):
            server.publish([marked(key, "a", mark) for key in MAIN])
            await _cycles(channels, count // PARTS)
        after = await _left(server)
        assert after.pop("timers") <= before.pop("timers") + 2
        assert after == before
        assert before["streams"] == before["watches"] == before["ends"] == 0
        assert not [each for each in caplog.records if each.levelno >= logging.ERROR], caplog.text
    assert all(each.seen for each in interceptors)


@scaled(("count", "settled", "most"), (2000, 1000, 1000), (20_000, 5000, 200))
async def test_k92_memory_stays(count: int, settled: int, most: int, tmp_path: Path) -> None:
    """Growth in bytes per stream, once `settled` streams have come and gone."""
    async with restartable(tmp_path) as server, AsyncExitStack() as stack:
        World(server.files, "default").write("all", *(marked(key, "a", 1) for key in MAIN))
        channels = await _channels(server.xds, stack)
        pid = server.plane.child.pid
        await _cycles(channels, settled)
        before = resident(pid)
        await _cycles(channels, count - settled)
        assert (resident(pid) - before) / (count - settled) < most

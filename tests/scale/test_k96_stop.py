"""K96: stop means stop: with streams open, one of them busy, and requests under way, SIGTERM ends it all in time."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.conformance.client import Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Restartable, restartable
from tests.conformance.wire import BOTH, MAIN, Variant
from tests.scale.scaling import scaled
from tests.support.fleet import SLACK, Fleet
from tests.support.publishers import LISTENER, FilePublisher, site
from xds_server.demo.backends import Backend
from xds_server.demo.load import Load
from xds_server.demo.world import Document
from xds_server.stream.server import GRACE

BIG = 1024 * 1024

ENDED, QUIET = 3.0, 4.0
"""Seconds within which the streams have ended, and the server too when nobody stalls."""


def _big(number: int) -> Document:
    document = marked("cds", f"big-{number}")
    document["metadata"] = {"filter_metadata": {"padding": {"bytes": "x" * BIG}}}
    return document


async def _streams(clients: Clients, count: int, *keys: str) -> list[Stream]:
    """Streams that have what they asked for: `a` of each type."""
    streams = [await clients.stream(BOTH[number % 2]) for number in range(count)]
    for stream in streams:
        for key in keys:
            stream.ask(key, "a")
    await asyncio.gather(*(stream.holding(key, {"a": 1}, within=10) for stream in streams for key in keys))
    return streams


async def _health(clients: Clients) -> Any:
    """A health client that was told that all is well and waits for news."""
    stub: Any = health_pb2_grpc.HealthStub(await clients.channel())
    watch = stub.Watch(health_pb2.HealthCheckRequest())
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
    return watch


async def _busy(clients: Clients) -> Stream:
    """A stream in the middle of a big answer, which it does not read."""
    stream = await clients.stream(Variant.SOTW)
    stream.reading.clear()
    stream.ask("cds")
    return stream


async def _requests(server: Restartable, stack: AsyncExitStack) -> None:
    """A follower of events, and a request whose long answer is not read."""
    session = await stack.enter_async_context(aiohttp.ClientSession(server.plane.admin, read_bufsize=1024))
    events = await stack.enter_async_context(session.get("/v1/events"))
    assert events.status == 200
    version = (await server.plane.group())["version"]
    long = await stack.enter_async_context(session.get(f"/v1/groups/default/versions/{version}"))
    assert long.status == 200


async def _readiness(server: Restartable, statuses: list[tuple[float, int]]) -> None:
    """Note when which status comes, until nobody answers."""
    try:
        while True:
            status, _ = await server.plane.request("/readyz")
            statuses.append((time.monotonic(), status))
            await asyncio.sleep(0.01)
    except aiohttp.ClientError:
        return


async def _stop(server: Restartable, signals: int) -> None:
    for _ in range(signals):
        server.plane.child.signal(signal.SIGTERM)
        await asyncio.sleep(0.5)


@pytest.mark.parametrize(("busy", "signals"), [(False, 1), (True, 1), (True, 2)])
@scaled(("count", "parts"), (20, 5), (200, 20))
async def test_k96_sigterm(count: int, parts: int, busy: bool, signals: int, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter
    """`count` streams; when it is `busy` there is one more, that is sent `parts` MB, and requests are under way."""
    async with restartable(tmp_path) as server, AsyncExitStack() as stack:
        world = World(server.files, "default")
        world.write("small", *(marked(key, "a", 1) for key in MAIN))
        world.write("big", *(_big(number) for number in range(parts)))
        await server.served(world)
        clients = Clients(server.xds, stack)
        streams = await _streams(clients, count, *MAIN)
        watch = await _health(clients)
        if busy:
            await _busy(clients)
            await _requests(server, stack)
        statuses: list[tuple[float, int]] = []
        readiness = asyncio.create_task(_readiness(server, statuses))
        await asyncio.sleep(0.3)
        stopped = time.monotonic()
        ended = asyncio.gather(*(stream.end(within=ENDED) for stream in streams))
        stopping = asyncio.create_task(_stop(server, signals))
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert {code for code, _ in await ended} == {grpc.StatusCode.UNAVAILABLE}
        most = GRACE + 1 if busy else QUIET
        assert await server.plane.child.wait(within=most * SLACK + stopped - time.monotonic()) == 0
        await asyncio.gather(stopping, readiness)
        assert {status for at, status in statuses if at < stopped} == {200}
        assert {status for at, status in statuses if at > stopped + 0.3} <= {503}
        assert "Traceback" not in server.plane.child.log.read_text()


@pytest.mark.envoy
@scaled("count", 20, 200)
async def test_k96_envoys_go_on_serving(count: int, fleet: Fleet) -> None:
    plane = fleet.tidegate()
    await plane.start()
    async with Backend("blue") as blue, AsyncExitStack() as stack:
        envoys = await fleet.both(plane.xds)
        await FilePublisher(plane, nodes=2).publish([*site("start", blue), marked("eds", "a", 1)])
        await _streams(Clients(plane.xds, stack), count, "eds")
        async with Load(await fleet.urls(LISTENER), rate=200) as load:
            plane.child.signal(signal.SIGTERM)
            assert await plane.child.wait(within=(GRACE + 1) * SLACK) == 0
            await asyncio.sleep(1)
            await plane.start()
            await plane.programmed(nodes=len(envoys), within=15 * SLACK)
        assert load.failed == 0, load.failures()

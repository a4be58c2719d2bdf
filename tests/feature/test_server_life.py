"""The life of the server: K96 stop means stop; limits."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.conformance.client import METHODS, SLACK, Stream, hold
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Restartable, Server, restartable
from tests.conformance.wire import BOTH, MAIN, Variant, delta_request, node_of, read, sotw_request
from xds_server.demo.yaml_files import replace_file, write_documents

GRACE = 10.0
"""Seconds within which the server must have ended."""


async def _open(server: Server, clients: Clients, count: int) -> list[Stream]:
    """`count` streams that hold everything."""
    world = server.world()
    world.write("a", *(marked(key, "a", 1) for key in MAIN))
    await server.served(world)
    streams = [await clients.stream(BOTH[number % 2], world) for number in range(count)]
    for stream in streams:
        for key in MAIN:
            stream.ask(key, "a")
    await asyncio.gather(*(stream.holding(key, {"a": 1}, within=10) for stream in streams for key in MAIN))
    return streams


async def _stall(server: Server, clients: Clients) -> None:
    """Open a stream that is sent 20 MB and reads nothing."""
    world = server.world("big")
    pads = [marked("cds", f"pad-{number}") for number in range(20)]
    for document in pads:
        document["metadata"] = {"filter_metadata": {"padding": {"bytes": "x" * 1_000_000}}}
    replace_file(world.folder / "big.json", json.dumps({"resources": pads}))
    await server.served(world, within=15)
    stream = await clients.stream(Variant.SOTW, world, answer=hold)
    stream.reading.clear()
    stream.ask("cds")
    await asyncio.sleep(0.3)


async def _is_unready(server: Restartable) -> bool:
    """Whether `/readyz` says no, or nobody answers any more."""
    try:
        status, _ = await server.request("/readyz")
    except (aiohttp.ClientError, TimeoutError):
        return True
    return status != 200


@pytest.mark.timeout(120)
@pytest.mark.parametrize("busy", [False, True], ids=["readers only", "a stalled one and a second signal"])
async def test_k96_stop_means_stop(tmp_path: Path, busy: bool) -> None:  # noqa: FBT001 - a parameter
    async with restartable(tmp_path) as server, server.clients() as clients:
        streams = await _open(server, clients, 200)
        if busy:
            await _stall(server, clients)
        stub: Any = health_pb2_grpc.HealthStub(await clients.channel())
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        started = time.monotonic()
        server.plane.child.signal(signal.SIGTERM)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert await _is_unready(server)
        if busy:
            server.plane.child.signal(signal.SIGTERM)
        ends = await asyncio.gather(*(stream.end(within=3) for stream in streams))
        assert {code for code, _ in ends} == {grpc.StatusCode.UNAVAILABLE}
        assert await server.plane.child.wait(GRACE * SLACK) == 0
        assert time.monotonic() - started < (GRACE if busy else 4) * SLACK
        assert "Traceback" not in server.plane.child.log.read_text()


@pytest.mark.timeout(120)
async def test_an_idle_server_ends_at_once_on_sigint(tmp_path: Path) -> None:
    async with restartable(tmp_path) as server:
        started = time.monotonic()
        server.plane.child.signal(signal.SIGINT)
        assert await server.plane.child.wait(GRACE * SLACK) == 0
        assert time.monotonic() - started < 3 * SLACK


@pytest.mark.parametrize("variant", BOTH)
async def test_a_client_that_ends_its_requests_gets_what_is_due(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    """As command-line clients do: one request, the end of requests, then they read."""
    world.write("a", marked("cds", "a", 1))
    await server.served(world)
    make = sotw_request if variant is Variant.SOTW else delta_request
    call: Any = (await clients.channel()).stream_stream(METHODS[variant])()
    await call.write(make("cds", node=node_of("once", group=world.group)).SerializeToString())
    await call.done_writing()
    assert read(variant, await call.read(), 0).names == {"a"}
    assert await call.read() is grpc.aio.EOF
    assert await call.code() is grpc.StatusCode.OK


@pytest.mark.timeout(120)
async def test_more_streams_than_allowed(tmp_path: Path) -> None:
    async with restartable(tmp_path, {"xds": {"max_streams": 10}}) as server, server.clients() as clients:
        write_documents(server.files / "a.yaml", [marked("cds", "a", 1)])
        streams = [await clients.stream(Variant.SOTW) for _ in range(10)]
        for stream in streams:
            stream.ask("cds")
            await stream.holding("cds", {"a": 1})
        refused = await clients.stream(Variant.SOTW)
        code, details = await refused.end()
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "max_streams" in details
        await streams[0].__aexit__(None, None, None)
        late = await clients.stream(Variant.SOTW)
        late.ask("cds")
        await late.holding("cds", {"a": 1})

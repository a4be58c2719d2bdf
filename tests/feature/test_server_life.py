"""The life of the server: it ends when it is told to, clients end their requests, and there are limits."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from tests.conformance.client import METHODS, SLACK
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server, restartable
from tests.conformance.wire import BOTH, Variant, delta_request, node_of, read, sotw_request
from xds_server.demo.yaml_files import write_documents

GRACE = 10.0
"""Seconds within which the server must have ended."""


@pytest.fixture
def signals_are_heard() -> Iterator[None]:
    """Whoever runs the tests may have them ignored, as `nohup` and a shell's `&` do; then the server's process has, too."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT)}
    for number, action in before.items():
        if action is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    yield
    for number, action in before.items():
        signal.signal(number, action)


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("signals_are_heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_an_idle_server_ends_at_once_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    async with restartable(tmp_path) as server:
        started = time.monotonic()
        assert (tmp_path / "addresses.json").exists()
        server.plane.child.signal(number)
        assert await server.plane.child.wait(GRACE * SLACK) == 0
        assert time.monotonic() - started < 3 * SLACK
        assert "stopped" in (tmp_path / "tidegate.log").read_text()
        assert not (tmp_path / "addresses.json").exists()


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

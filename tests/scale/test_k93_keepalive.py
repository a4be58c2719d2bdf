"""K93: keepalive pings of Envoys and of gRPC clients are welcome, however often they come."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from functools import partial

import grpc
import pytest

from tests.conformance.client import Stream
from tests.conformance.documents import marked
from tests.conformance.wire import BOTH
from tests.feature.inprocess import Inside, inside
from tests.scale.scaling import scaled
from tests.support.fleet import Fleet
from xds_server.demo.envoys import Envoy
from xds_server.stream import server as shell

PINGS = (
    ("grpc.keepalive_time_ms", 1000),
    ("grpc.keepalive_timeout_ms", 2000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
"""A gRPC client that pings each second for ever."""

OPENED = (
    r"cluster\.tidegate\.(upstream_cx_total|upstream_rq_total|http2\.keepalive_timeout)|control_plane\.connected_state"
)


def _each(seconds: int, bootstrap: str) -> str:
    """A bootstrap file with so many seconds between two pings."""
    assert '"interval": "30s"' in bootstrap
    return bootstrap.replace('"interval": "30s"', f'"interval": "{seconds}s"')


async def _opened(envoy: Envoy) -> dict[str, int]:
    return {name.rpartition(".")[2]: value for name, value in (await envoy.stats(OPENED)).items()}


@pytest.mark.envoy
@scaled(("interval", "seconds"), (1, 20), (1, 60), (30, 300))
async def test_k93_envoys_pings(fleet: Fleet, interval: int, seconds: float) -> None:
    plane = fleet.tidegate()
    await plane.start()
    await fleet.both(plane.xds, edit=partial(_each, interval))
    (plane.files / "world.json").write_text(json.dumps(marked("cds", "a")))
    await plane.programmed(nodes=2)
    await asyncio.sleep(seconds)
    for envoy in fleet.envoys:
        assert await _opened(envoy) == {
            "upstream_cx_total": 1,
            "upstream_rq_total": 1,
            "keepalive_timeout": 0,
            "connected_state": 1,
        }


async def _pinging(server: Inside, stack: AsyncExitStack) -> list[Stream]:
    """A stream per variant, each on a connection that pings."""
    server.publish([marked("cds", "a", 1)])
    streams = []
    for variant in BOTH:
        channel = await server.clients(stack).channel(*PINGS)
        stream = await stack.enter_async_context(Stream(channel, variant, f"pings-{variant}"))
        stream.ask("cds")
        await stream.holding("cds", {"a": 1})
        streams.append(stream)
    return streams


@scaled("seconds", 12, 60)
async def test_k93_grpc_pings(seconds: float) -> None:
    async with inside() as server, AsyncExitStack() as stack:
        streams = await _pinging(server, stack)
        await asyncio.gather(*(stream.quiet(seconds=seconds) for stream in streams))
        assert [stream.ended for stream in streams] == [None, None]
        server.publish([marked("cds", "a", 2)])
        for stream in streams:
            await stream.holding("cds", {"a": 2})


async def test_k93_the_same_pings_end_streams_of_a_server_as_grpc_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without our options the test above would fail."""
    monkeypatch.setattr(shell, "_options", lambda limits: [])
    async with inside() as server, AsyncExitStack() as stack:
        for stream in await _pinging(server, stack):
            code, details = await stream.end(within=15)
            assert code is grpc.StatusCode.UNAVAILABLE
            assert "pings" in details

"""Calm: a peer that is gone without a word (a firewall that forgot the connection) is noticed by the server's pings."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.conformance.client import Stream, connect
from tests.conformance.documents import marked
from tests.conformance.wire import BOTH
from tests.feature.inprocess import Inside, inside
from tests.scale.balancer import Balancer
from tests.scale.scaling import scaled
from tests.support.fleet import SLACK
from xds_server.demo.polling import until
from xds_server.stream import server as shell
from xds_server.stream.context import Limits

PEERS = 10


@pytest.fixture
def sooner(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has the servers that are made after it ping at other intervals (milliseconds)."""
    made = shell._options

    def set_intervals(time_ms: int, timeout_ms: int) -> None:
        replaced = {
            "grpc.keepalive_time_ms": time_ms,
            "grpc.keepalive_timeout_ms": timeout_ms,
            "grpc.http2.ping_timeout_ms": timeout_ms,
        }
        assert replaced.keys() <= {key for key, _ in made(Limits())}
        monkeypatch.setattr(
            shell, "_options", lambda limits: [(key, replaced.get(key, value)) for key, value in made(limits)]
        )

    return set_intervals


def _connected(server: Inside) -> set[str]:
    return {report.id for report in server.tracker.nodes() if report.connected}


async def _peers(server: Inside, target: str, name: str, stack: AsyncExitStack) -> set[str]:
    """Clients that have what they asked for; their ids."""
    ids = {f"{name}-{number}" for number in range(PEERS)}
    for number, node in enumerate(sorted(ids)):
        channel = await stack.enter_async_context(connect(target))
        stream = await stack.enter_async_context(Stream(channel, BOTH[number % 2], node))
        stream.ask("eds", "a")
        await stream.holding("eds", {"a": 1})
    return ids


@scaled(("ping", "pong"), (1, 1), (30, 10))
async def test_dead_peers_are_noticed(ping: int, pong: int, sooner: Any) -> None:
    """`ping` and `pong` are the seconds between two pings, and those that a pong may take."""
    sooner(ping * 1000, pong * 1000)
    async with inside() as server, Balancer(server.xds) as balancer, AsyncExitStack() as stack:
        server.publish([marked("eds", "a", 1)])
        dead = await _peers(server, balancer.address, "dead", stack)
        alive = await _peers(server, server.xds, "alive", stack)
        assert _connected(server) == dead | alive
        balancer.swallowing = True
        started = time.monotonic()

        async def noticed() -> bool:
            return _connected(server) == alive

        await until(noticed, within=(ping + pong) * 1.2 + 2 * SLACK, what="dead peers are gone", interval=0.1)
        assert time.monotonic() - started >= pong / 2, "by a ping, not by an end of the connection"
        await asyncio.sleep(ping + pong)
        assert _connected(server) == alive

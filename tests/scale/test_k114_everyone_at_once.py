"""K114: a whole fleet comes back at once, after a cut and after a restart, and everybody is served in time."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median

from tests.conformance.client import connect
from tests.conformance.documents import World, marked
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import Variant
from tests.scale.light import Light
from tests.scale.scaling import scaled
from tests.support.fleet import SLACK
from xds_server.demo.world import Document

PARTS, SIZE = 100, 20 * 1024
"""2 MB for each client."""

WITHIN = 15.0
"""Envoy's own limit for its first fetch of a resource (`initial_fetch_timeout`), in seconds."""

PROBE = 1.0
"""A kubelet's default limit for a probe, in seconds."""

RECONNECT = (("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500))

log = logging.getLogger(__name__)


def _part(number: int) -> Document:
    document = marked("cds", f"c-{number}")
    document["metadata"] = {"filter_metadata": {"padding": {"bytes": "x" * SIZE}}}
    return document


class Member:
    """One client: connects, and has everything in one attempt (a stream that ends early fails the test)."""

    def __init__(self, target: str, node: str) -> None:
        self._target = target
        self._node = node
        self._versions: Mapping[str, str] = {}
        self._stack = AsyncExitStack()

    async def come(self, delay: float, *, claims: bool) -> float:
        """After a delay, connect and get everything, or with `claims` what has changed; the seconds that it took.

        The time before there is somebody to connect to does not count.
        """
        await asyncio.sleep(delay)
        channel = await self._stack.enter_async_context(connect(self._target, RECONNECT))
        await channel.channel_ready()
        started = time.monotonic()
        stream = await self._stack.enter_async_context(Light(channel, Variant.DELTA, self._node))
        stream.ask("cds", initial=self._versions if claims else None)
        await stream.until(lambda: claims or len(stream.names_of("cds")) == PARTS, within=4 * WITHIN)
        await stream.until(lambda: stream.received, within=4 * WITHIN)
        self._versions = dict(stream.received[-1].versions) or self._versions
        return time.monotonic() - started

    async def go(self) -> None:
        """Cut the connection."""
        await self._stack.aclose()


async def _storm(members: Sequence[Member], *, claims: bool) -> list[float]:
    """Everybody comes within a second; the times that it took them, sorted."""
    times = await asyncio.gather(*(member.come(random.random(), claims=claims) for member in members))
    return sorted(times)


@asynccontextmanager
async def _probed(server: Restartable, *paths: str) -> AsyncIterator[list[float]]:
    """Ask for health and readiness all the time; the times that the answers took."""
    times: list[float] = []

    async def probe() -> None:
        while True:
            for path in paths:
                started = time.monotonic()
                status, _ = await server.plane.request(path)
                assert status == 200
                times.append(time.monotonic() - started)
            await asyncio.sleep(0.1)

    task = asyncio.create_task(probe())
    try:
        yield times
    finally:
        task.cancel()
        done, _ = await asyncio.wait([task])
        for each in done:
            if not each.cancelled():
                each.result()


def _check(what: str, times: list[float], probes: list[float]) -> None:
    log.info("%s: median %.2f s, slowest %.2f s, slowest probe %.2f s", what, median(times), times[-1], max(probes))
    assert times[-1] < WITHIN * SLACK
    assert max(probes) < PROBE * SLACK


async def _after_a_cut(server: Restartable, members: Sequence[Member], *, claims: bool) -> None:
    await asyncio.gather(*(member.go() for member in members))
    async with _probed(server, "/healthz", "/readyz") as probes:
        times = await _storm(members, claims=claims)
    _check(f"{len(members)} after a cut, {claims=}", times, probes)


async def _after_a_restart(server: Restartable, members: Sequence[Member]) -> None:
    """They come while the server is not there yet, and are there before it has read its files."""
    await asyncio.gather(*(member.go() for member in members))
    await server.plane.child.kill()
    storm = asyncio.create_task(_storm(members, claims=False))
    await server.plane.start(ready=False)
    async with _probed(server, "/healthz") as probes:
        times = await storm
    _check(f"{len(members)} after a restart", times, probes)


@scaled("count", 50, 500)
async def test_k114_everyone_comes_back_at_once(count: int, tmp_path: Path) -> None:
    """Fresh clients in the place of those that went, the same ones with what they hold, and all after a restart."""
    async with restartable(tmp_path) as server, AsyncExitStack() as stack:
        world = World(server.files, "default")
        world.write("all", *(_part(number) for number in range(PARTS)))
        await server.served(world)
        members = [Member(server.xds, f"n-{number}") for number in range(count)]
        for member in members:
            stack.push_async_callback(member.go)
        await _storm(members, claims=False)
        await _after_a_cut(server, members, claims=False)
        await _after_a_cut(server, members, claims=True)
        await _after_a_restart(server, members)

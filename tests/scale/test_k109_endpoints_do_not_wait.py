"""K109, raw form: an endpoint's change does not wait for the builds of a large and busy set of routes."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.conformance.client import Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, restartable
from tests.conformance.wire import Variant
from tests.scale.piped import piped
from tests.scale.scaling import scaled
from tests.support.fleet import SLACK
from xds_server.demo.world import assignment, cluster, route, routes

Write = Callable[..., None]
"""A file's name and its documents."""

EDITS = 10
"""Edits of routes in a second."""

FLOOR = 0.3
"""Seconds below which times are not compared: what a busy machine does between two turns."""


class Site:
    """Route configurations and services in files of their own, as a folder of manifests has them."""

    def __init__(self, write: Write, route_count: int, services: int) -> None:
        self._write = write
        self._random = random.Random(109)
        self._routes = route_count
        self._services = services
        for number in range(services):
            write(f"service-{number}", cluster(f"s-{number}"), assignment(f"s-{number}", [1]))
        for number in range(route_count):
            self.edit(number, 0)

    def edit(self, number: int, mark: int) -> None:
        """Replace a route configuration by another one."""
        to = [f"s-{self._random.randrange(self._services)}" for _ in range(5)]
        entries = [route(name, prefix=f"/{mark}/{name}/") for name in to]
        self._write(f"route-{number}", routes(f"r-{number}", entries))

    @asynccontextmanager
    async def edited(self) -> AsyncIterator[None]:
        """Random routes are edited all the time."""

        async def edit() -> None:
            mark = 0
            while True:
                mark += 1
                self.edit(self._random.randrange(self._routes), mark)
                await asyncio.sleep(1 / EDITS)

        task = asyncio.create_task(edit())
        try:
            yield
        finally:
            task.cancel()


async def _swaps(write: Write, stream: Stream, count: int, interval: float, first: int) -> list[float]:
    """Change one assignment again and again; the seconds from each write to its arrival, sorted."""
    times = []
    for mark in range(first, first + count):
        started = time.monotonic()
        write("swapped", marked("eds", "swapped", mark))
        await stream.holding("eds", {"swapped": mark}, within=30)
        times.append(time.monotonic() - started)
        await asyncio.sleep(max(0.0, interval - times[-1]))
    return sorted(times)


async def _compare(write: Write, clients: Clients, site: Site, swaps: int, interval: float) -> None:
    """The slowest swap (of fewer than a hundred: the p99), without and with edits of routes beside it."""
    write("swapped", marked("eds", "swapped", 0))
    stream = await clients.stream(Variant.DELTA)
    stream.ask("eds", "swapped")
    await stream.holding("eds", {"swapped": 0}, within=60)
    await asyncio.sleep(1)
    alone = await _swaps(write, stream, swaps, interval, 1)
    async with site.edited():
        busy = await _swaps(write, stream, swaps, interval, swaps + 1)
    assert busy[-1] <= 1 * SLACK, (alone, busy)
    assert busy[-1] <= max(3 * alone[-1], FLOOR * SLACK), (alone, busy)


TENTH, WHOLE = (200, 50, 20, 0.15), (2000, 500, 60, 1.0)


@scaled(("route_count", "services", "swaps", "interval"), TENTH, WHOLE)
async def test_k109_files(route_count: int, services: int, swaps: int, interval: float, tmp_path: Path) -> None:
    async with restartable(tmp_path) as server, AsyncExitStack() as stack:
        world = World(server.files, "default")
        site = Site(world.write, route_count, services)
        await _compare(world.write, Clients(server.xds, stack), site, swaps, interval)


@scaled(("route_count", "services", "swaps", "interval"), TENTH, WHOLE)
async def test_k109_feed(route_count: int, services: int, swaps: int, interval: float) -> None:
    async with piped() as server, AsyncExitStack() as stack:
        site = Site(server.write, route_count, services)
        await _compare(server.write, server.inside.clients(stack), site, swaps, interval)

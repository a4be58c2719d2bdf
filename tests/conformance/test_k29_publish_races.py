"""K29: streams that open while publishes go on all end at the last content."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

import pytest

from tests.conformance.client import SLACK, Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, MAIN, marks_of
from xds_server.demo.polling import until

STREAMS, RATE = 300, 50


async def _publish(world: World, until_time: float) -> int:
    """Publish the five types in turn, `RATE` times a second; the number of the last, which each type then gets."""
    number = 0
    started = time.monotonic()
    while time.monotonic() < until_time:
        number += 1
        world.write(MAIN[number % len(MAIN)], marked(MAIN[number % len(MAIN)], "a", number))
        await asyncio.sleep(max(0.0, started + number / RATE - time.monotonic()))
    number += 1
    for key in MAIN:
        world.write(key, marked(key, "a", number))
    return number


async def _open(clients: Clients, world: World, number: int, over: float) -> Stream:
    await asyncio.sleep(over * number / STREAMS)
    stream = await clients.stream(BOTH[number % 2], world)
    for key in MAIN:
        stream.ask(key, "a")
    return stream


async def _race(server: Server, world: World, over: float) -> float:
    """Seconds from the last publish until all streams had it."""
    for key in MAIN:
        world.write(key, marked(key, "a", 0))
    async with AsyncExitStack() as stack:
        clients = Clients(server.xds, stack)
        publishing = asyncio.create_task(_publish(world, time.monotonic() + over))
        streams = await asyncio.gather(*(_open(clients, world, number, over) for number in range(STREAMS)))
        last = await publishing
        published = time.monotonic()

        async def all_there() -> bool:
            return all(marks_of(stream.holds.get(key, {})) == {"a": str(last)} for stream in streams for key in MAIN)

        await until(all_there, within=10 * SLACK, what=f"{STREAMS} streams at {last}")
        return time.monotonic() - published


async def test_k29_every_stream_ends_at_the_last_publish(server: Server, world: World) -> None:
    assert await _race(server, world, over=4) < 3 * SLACK


@pytest.mark.soak
@pytest.mark.timeout(300)
async def test_k29_five_times_ten_seconds(server: Server) -> None:
    for _ in range(5):
        assert await _race(server, server.world(), over=10) < 3 * SLACK

"""K13: an ACK that comes at once is never missed: after many quick publishes every type is at the last content."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.client import SLACK, Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, MAIN, Variant, mark_of
from xds_server.demo.polling import until


async def _publish_fast(server: Server, clients: Clients, world: World, variant: Variant, count: int) -> None:
    for key in MAIN:
        world.write(key, marked(key, "a", 0))
    stream = await clients.stream(variant, world, f"node-{world.group}")
    for key in MAIN:
        stream.ask(key, "a")
    for key in MAIN:
        await stream.holding(key, {"a": 0})
    for number in range(1, count + 1):
        world.write(MAIN[number % len(MAIN)], marked(MAIN[number % len(MAIN)], "a", number))
        await asyncio.sleep(0)
    last = {MAIN[number % len(MAIN)]: number for number in range(count - len(MAIN) + 1, count + 1)}
    for key, number in last.items():
        await stream.holding(key, {"a": number}, within=2)
    _check_order(stream)

    async def in_sync() -> bool:
        group = await server.group(world)
        return bool(group["programmed"])

    await until(in_sync, within=2 * SLACK, what="the server shows the node in sync")


def _check_order(stream: Stream) -> None:
    for key in MAIN:
        marks = [int(mark_of(each.resources["a"]) or -1) for each in stream.of(key) if each.resources]
        assert marks == sorted(set(marks)), f"{key} came out of order, or twice"


@pytest.mark.parametrize("variant", BOTH)
async def test_k13_acks_inside_the_read_callback(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    await _publish_fast(server, clients, world, variant, 500)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", BOTH)
async def test_k13_five_thousand_publishes(server: Server, clients: Clients, world: World, variant: Variant) -> None:
    await _publish_fast(server, clients, world, variant, 5000)

"""K04: what was unsubscribed and is asked for again is sent again, though nothing has changed."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, Variant


@pytest.mark.parametrize("variant", BOTH)
async def test_k04_unsubscribe_then_subscribe_again(server: Server, clients: Clients, variant: Variant) -> None:
    keys = ("lds", "rds", "eds", "cds", "sds")
    await asyncio.gather(*(_leave_and_return(server.world(key), clients, variant, key) for key in keys))


async def _leave_and_return(world: World, clients: Clients, variant: Variant, key: str) -> None:
    world.write("ab", marked(key, "svc-a"), marked(key, "svc-b"))
    stream = await clients.stream(variant, world)
    stream.ask(key, "svc-a", "svc-b")
    await stream.holding(key, {"svc-a": 0, "svc-b": 0})
    for _ in range(2):
        stream.ask(key, "svc-a")
        await asyncio.sleep(0.5)
        stream.skip()
        stream.ask(key, "svc-a", "svc-b")
        await stream.sent(key, "svc-b", within=1)
        await asyncio.sleep(0.2)
        stream.skip()
    await stream.quiet()

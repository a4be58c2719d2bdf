"""K01: a refused resource is not sent again until it changes, and then once."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.client import refuse
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, MAIN, Variant


@pytest.mark.parametrize("variant", BOTH)
async def test_k01_a_nack_starts_no_resend_loop(server: Server, clients: Clients, variant: Variant) -> None:
    await asyncio.gather(*(_refuse_twice(server.world(key), clients, variant, key) for key in MAIN))


async def _refuse_twice(world: World, clients: Clients, variant: Variant, key: str) -> None:
    world.write("a", marked(key, "a", 1))
    stream = await clients.stream(variant, world)
    stream.ask(key, *(("*",) if key in {"cds", "lds"} else ("a",)))
    await stream.holding(key, {"a": 1})
    stream.answer = refuse
    for mark in (2, 3):
        world.write("a", marked(key, "a", mark))
        await stream.holding(key, {"a": mark})
        await stream.quiet(seconds=1.0)
    assert len(stream.of(key)) <= 4, "one for each content, and perhaps an empty one at first"


@pytest.mark.parametrize("variant", BOTH)
async def test_k01_each_nack_is_counted_once(server: Server, clients: Clients, variant: Variant) -> None:
    async def nacks() -> float:
        return await server.metric("tidegate_nacks_total", type="cds", group=world.group)

    world = server.world()
    world.write("a", marked("cds", "a", 1))
    stream = await clients.stream(variant, world, answer=refuse)
    stream.ask("cds")
    await stream.holding("cds", {"a": 1})
    await stream.quiet()
    before = await nacks()
    world.write("a", marked("cds", "a", 2))
    await stream.holding("cds", {"a": 2})
    await stream.quiet()
    assert await nacks() == before + 1

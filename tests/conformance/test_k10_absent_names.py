"""K10: a delta client is told that a name does not exist, and gets it when it is born."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.documents import World, marked
from tests.conformance.server import Clients
from tests.conformance.wire import Variant


@pytest.mark.parametrize("key", ["eds", "rds", "sds", "cds", "lds"])
async def test_k10_absent_then_born_then_gone_then_born(clients: Clients, world: World, key: str) -> None:
    world.write("bar", marked(key, "bar"))
    stream = await clients.stream(Variant.DELTA, world)
    probe = await clients.stream(Variant.DELTA, world)
    probe.ask(key, "bar")
    await probe.holding(key, {"bar": 0})
    stream.ask(key, "foo", "bar")
    response = await stream.next(key, within=1)
    assert response.names == {"bar"}
    assert response.removed == {"foo"}
    await asyncio.sleep(0.3)
    for mark in (1, 2):
        world.write("foo", marked(key, "foo", mark))
        await stream.holding(key, {"bar": 0, "foo": mark}, within=1)
        world.remove("foo")
        response = await stream.next(key, within=1)
        assert not response.names
        assert response.removed == {"foo"}
    await stream.quiet()

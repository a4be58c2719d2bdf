"""K14: a name that does not exist holds back nothing of those that do."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.documents import World, marked, service
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, Variant


@pytest.mark.parametrize("variant", BOTH)
async def test_k14_an_absent_name_beside_a_present_one(server: Server, clients: Clients, variant: Variant) -> None:
    keys = ("eds", "rds", "sds", "cds", "lds")
    await asyncio.gather(*(_absent_beside_present(server.world(key), clients, variant, key) for key in keys))


async def _absent_beside_present(world: World, clients: Clients, variant: Variant, key: str) -> None:
    world.write("x", marked(key, "x", 1))
    stream = await clients.stream(variant, world)
    stream.ask(key, "x", "ghost")
    await stream.holding(key, {"x": 1}, within=2)
    world.write("x", marked(key, "x", 2))
    await stream.holding(key, {"x": 2}, within=2)
    world.write("ghost", marked(key, "ghost", 1))
    await stream.holding(key, {"x": 2, "ghost": 1}, within=2)
    await stream.quiet()


@pytest.mark.parametrize("variant", BOTH)
async def test_k14_a_cluster_without_its_assignment_waits_alone(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    (y, y_endpoints) = service("y")
    world.write("x", *service("x"))
    world.write("y", y)
    stream = await clients.stream(variant, world)
    stream.ask("cds")
    stream.ask("eds", "x")
    await stream.until(lambda: stream.names_of("eds") == stream.names_of("cds") == {"x"}, within=2)
    assert await server.left_out(world) == {"y": "NoAssignment"}
    world.write("y-endpoints", y_endpoints)
    await stream.until(lambda: stream.names_of("cds") == {"x", "y"}, within=2)
    stream.ask("eds", "x", "y")
    await stream.until(lambda: stream.names_of("eds") == {"x", "y"}, within=2)
    assert await server.left_out(world) == {}

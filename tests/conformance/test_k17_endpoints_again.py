"""K17: a cluster that is sent again gets its endpoints again, though they have not changed."""

from __future__ import annotations

import pytest

from tests.conformance.documents import World, service
from tests.conformance.follow import start
from tests.conformance.server import Clients
from tests.conformance.wire import BOTH, Variant


@pytest.mark.parametrize("variant", BOTH)
async def test_k17_a_changed_cluster(clients: Clients, world: World, variant: Variant) -> None:
    world.write("xy", *service("x", 0), *service("y", 0))
    stream = await clients.stream(variant, world)
    start(stream)
    await stream.holding("cds", {"x": 0, "y": 0})
    await stream.until(lambda: stream.names_of("eds") == {"x", "y"})
    for mark in range(1, 6):
        stream.skip()
        world.write("xy", *service("x", mark, connect_timeout=f"{mark}s"), *service("y", 0))
        await stream.holding("cds", {"x": mark, "y": 0}, within=1)
        response = await stream.next("eds", within=1)
        assert response.names == {"x"}, "those of y need not come again"
    await stream.quiet()


@pytest.mark.parametrize("variant", BOTH)
async def test_k17_a_cluster_removed_and_added(clients: Clients, world: World, variant: Variant) -> None:
    cluster, endpoints = service("x", 0)
    world.write("cluster", cluster)
    world.write("endpoints", endpoints)
    stream = await clients.stream(variant, world)
    start(stream)
    await stream.until(lambda: stream.names_of("eds") == {"x"})
    for mark in (1, 2):
        world.remove("cluster")
        await stream.holding("cds", {}, within=1)
        stream.skip()
        world.write("cluster", service("x", mark)[0])
        await stream.holding("cds", {"x": mark}, within=1)
        assert (await stream.next("eds", within=1)).names == {"x"}

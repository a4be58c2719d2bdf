"""K18: make before break, as a raw client sees it: new clusters before the route, old ones after its ACK."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.client import Stream
from tests.conformance.documents import World, edge, service
from tests.conformance.follow import dangling, follow, start
from tests.conformance.server import Clients
from tests.conformance.wire import BOTH, Received, Variant

MOVES = 20


def _hold_routes(stream: Stream, response: Received) -> None:
    if response.key != "rds":
        follow(stream, response)


@pytest.mark.parametrize("variant", BOTH)
async def test_k18_a_cluster_stays_until_the_route_is_accepted(
    clients: Clients, world: World, variant: Variant
) -> None:
    world.write("world", *service("x"), *edge("edge", "x"))
    stream = await clients.stream(variant, world)
    start(stream)
    await stream.until(lambda: stream.names_of("rds") == {"edge-routes"})
    stream.answer = _hold_routes
    seen = len(stream.received)
    world.write("world", *service("y"), *edge("edge", "y"))
    await stream.until(lambda: len(stream.of("rds")) == 2, what="the moved route")
    fresh = [response.key for response in stream.received[seen:]]
    assert fresh.index("cds") < fresh.index("eds") < fresh.index("rds")
    await asyncio.sleep(0.5)
    assert stream.names_of("cds") == {"x", "y"}, "until the route's ACK both are there"
    stream.answer = follow
    stream.ack(stream.of("rds")[-1])
    await stream.until(lambda: stream.names_of("cds") == {"y"}, within=1, what="x goes")


@pytest.mark.parametrize("variant", BOTH)
async def test_k18_the_route_waits_for_the_new_cluster(clients: Clients, world: World, variant: Variant) -> None:
    def slow(stream: Stream, response: Received) -> None:
        if response.key != "cds" or "y" not in response.names:
            follow(stream, response)

    world.write("world", *service("x"), *edge("edge", "x"))
    stream = await clients.stream(variant, world)
    start(stream)
    await stream.until(lambda: stream.names_of("rds") == {"edge-routes"})
    stream.answer = slow
    world.write("world", *service("x"), *service("y"), *edge("edge", "y"))
    await stream.until(lambda: "y" in stream.names_of("cds"))
    stream.ask("eds", "x", "y")
    await stream.until(lambda: "y" in stream.names_of("eds"), within=1, what="endpoints do not wait for the ACK")
    await asyncio.sleep(0.5)
    assert len(stream.of("rds")) == 1, "the route waits for the cluster's ACK"
    stream.ack(next(each for each in reversed(stream.of("cds")) if "y" in each.names))
    await stream.until(lambda: len(stream.of("rds")) == 2, within=1, what="the moved route")


@pytest.mark.parametrize("variant", BOTH)
async def test_k18_never_a_dangling_route_in_many_moves(clients: Clients, world: World, variant: Variant) -> None:
    found: list[str] = []

    def check(stream: Stream, response: Received) -> None:
        found.extend(dangling(stream))
        follow(stream, response)

    world.write("world", *service("x"), *edge("edge", "x"))
    stream = await clients.stream(variant, world)
    start(stream)
    stream.answer = check
    for number in range(MOVES):
        name = "xy"[number % 2] if number % 3 else f"fresh-{number}"
        world.write("world", *service(name), *edge("edge", name))
        await asyncio.sleep(0.05)
    await stream.until(lambda: stream.names_of("cds") == {name} and stream.names["eds"] == {name}, what="the end")
    assert not found

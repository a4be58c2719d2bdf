"""A new stream of a node that holds something: it is what it says it holds, and make before break goes on."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.client import Stream, accept, hold
from tests.conformance.documents import World, edge, marked, service
from tests.conformance.follow import dangling, follow, start
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, MAIN, Received, Variant

FOLLOWED = ("cds", "eds", "lds", "rds")


def _come_back(stream: Stream, before: Stream) -> None:
    """Ask for what the stream before asked for, and say what it held, as Envoy does after a cut."""
    stream.holds = {key: dict(held) for key, held in before.holds.items()}
    for key in FOLLOWED:
        names = before.names.get(key, set())
        last = before.of(key)[-1]
        if stream.variant is Variant.SOTW:
            stream.ask(key, *names, version=last.version)
        else:
            versions = {name: each for response in before.of(key) for name, each in response.versions.items()}
            stream.ask(key, *names, initial={name: versions[name] for name in before.names_of(key)})


@pytest.mark.parametrize("variant", BOTH)
async def test_nothing_is_sent_again_that_has_not_changed(clients: Clients, world: World, variant: Variant) -> None:
    world.write("world", *service("x"), *edge("edge", "x"))
    before = await clients.stream(variant, world, "again")
    start(before)
    await before.until(lambda: before.names_of("rds") and before.names_of("eds"))
    await asyncio.sleep(0.2)
    await before.__aexit__(None, None, None)
    after = await clients.stream(variant, world, "again", answer=follow)
    _come_back(after, before)
    await asyncio.sleep(0.6)
    sent = {key: set().union(*(each.names for each in after.of(key))) for key in FOLLOWED}
    # For types asked for by name, the version does not tell which names a SotW client holds.
    by_name = {"eds": {"x"}, "rds": {"edge-routes"}} if variant is Variant.SOTW else {"eds": set(), "rds": set()}
    assert sent == {"cds": set(), "lds": set(), **by_name}
    assert not any(each.removed for each in after.received)


@pytest.mark.parametrize("variant", BOTH)
async def test_make_before_break_across_a_reconnect(clients: Clients, world: World, variant: Variant) -> None:
    """While the node is away, its route moves from x to y and x goes; it must keep x until it has the new route."""

    def watch(stream: Stream, response: Received) -> None:
        found.extend(dangling(stream))
        if response.key == "rds":
            with_both.append({"x", "y"} <= stream.names_of("cds"))
        follow(stream, response)

    found: list[str] = []
    with_both: list[bool] = []
    world.write("world", *service("x"), *edge("edge", "x"))
    before = await clients.stream(variant, world, "moved")
    start(before)
    await before.until(lambda: before.names_of("rds") and before.names_of("eds"))
    await asyncio.sleep(0.2)
    await before.__aexit__(None, None, None)
    witness = await clients.stream(variant, world)
    start(witness)
    world.write("world", *service("y"), *edge("edge", "y"))
    await witness.until(lambda: witness.names_of("cds") == {"y"})
    after = await clients.stream(variant, world, "moved", answer=watch)
    _come_back(after, before)
    await after.until(lambda: after.names_of("cds") == {"y"} and after.names_of("eds") >= {"y"})
    assert not found
    assert with_both
    assert all(with_both)


@pytest.mark.parametrize("variant", BOTH)
async def test_a_slow_node_gets_the_newest_and_nothing_between(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    world.write("all", *(marked(key, "a", 0) for key in MAIN))
    fast, slow = [await clients.stream(variant, world) for _ in range(2)]
    for stream in (fast, slow):
        for key in MAIN:
            stream.ask(key, "a")
        for key in MAIN:
            await stream.holding(key, {"a": 0})
    slow.answer = hold
    for mark in range(1, 6):
        world.write("all", *(marked(key, "a", mark) for key in MAIN))
        for key in MAIN:
            await fast.holding(key, {"a": mark}, within=2)
    held = {key: await slow.next(key) for key in MAIN}
    await slow.quiet(seconds=0.3)
    slow.answer = accept
    for response in held.values():
        slow.ack(response)
    for key in MAIN:
        await slow.holding(key, {"a": 5})
        assert len(slow.of(key)) <= 4, "the first, the one that was held, the newest, and perhaps an empty one at first"


async def test_two_streams_of_one_node(server: Server, clients: Clients, world: World) -> None:
    """Envoy's hot restart: the old process and the new one have one id."""
    world.write("a", marked("cds", "a", 1))
    name = f"twin-{world.group}"
    old, new = [await clients.stream(variant, world, name) for variant in BOTH]
    for stream in (old, new):
        stream.ask("cds")
        await stream.holding("cds", {"a": 1})
    nodes = (await server.get(f"/v1/nodes/{name}"))["nodes"]
    assert sorted(node["protocol"] for node in nodes if node["connected"]) == ["delta", "sotw"]
    world.write("a", marked("cds", "a", 2))
    for stream in (old, new):
        await stream.holding("cds", {"a": 2})
    await old.__aexit__(None, None, None)
    world.write("a", marked("cds", "a", 3))
    await new.holding("cds", {"a": 3})
    assert (await server.group(world))["nodes"]["connected"] == 1


@pytest.mark.parametrize("variant", BOTH)
async def test_a_claim_that_nobody_knows(clients: Clients, world: World, variant: Variant) -> None:
    """A version of another replica, or made up: everything is sent."""
    world.write("all", *(marked(key, "a", 1) for key in MAIN))
    stream = await clients.stream(variant, world)
    for key in MAIN:
        stream.ask(key, *(() if key in {"cds", "lds"} else ("a",)), version="made-up", initial={"a": "made-up"})
    for key in MAIN:
        await stream.holding(key, {"a": 1})
    await stream.quiet(seconds=0.3)

"""Two files that give one name: the first by path keeps it, the other is told."""

from __future__ import annotations

import asyncio

from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, MAIN


async def test_the_first_by_path_keeps_the_name(server: Server, clients: Clients, world: World) -> None:
    world.write("b", marked("cds", "same", "b"), marked("cds", "own-of-b", "b"))
    streams = [await clients.stream(variant, world) for variant in BOTH]
    for stream in streams:
        stream.ask("cds")
        await stream.holding("cds", {"same": "b", "own-of-b": "b"})
    world.write("a", marked("cds", "same", "a"))
    for stream in streams:
        await stream.holding("cds", {"same": "a", "own-of-b": "b"})
    await _told(server, world, "b.yaml", "a.yaml")
    world.write("c", marked("cds", "same", "c"))
    await server.served(world, after=2)
    await _told(server, world, "b.yaml", "a.yaml")
    await asyncio.gather(*(stream.quiet(seconds=0.3) for stream in streams))
    world.remove("a")
    for stream in streams:
        await stream.holding("cds", {"same": "b", "own-of-b": "b"})
    await _told(server, world, "c.yaml", "b.yaml")
    world.remove("b")
    for stream in streams:
        await stream.holding("cds", {"same": "c"})
    assert await server.left_out(world) == {}
    assert not await server.errors(world)


async def _told(server: Server, world: World, loser: str, winner: str) -> None:
    """`left_out` and the source's errors name who lost a name and who has it."""
    entries = (await server.group(world))["left_out"]
    assert {entry["reason"] for entry in entries} == {"DuplicateName"}
    entry = next(each for each in entries if each["origin"][0]["path"].endswith(loser))
    assert entry["name"] == "same"
    assert winner in entry["message"]
    assert loser in {each["path"].rpartition("/")[2] for each in await server.errors(world)}


async def test_within_one_file_the_first_document_keeps_the_name(
    server: Server, clients: Clients, world: World
) -> None:
    world.write("a", marked("cds", "same", 1), marked("cds", "other"), marked("cds", "same", 2))
    stream = await clients.stream(BOTH[0], world)
    stream.ask("cds")
    await stream.holding("cds", {"same": 1, "other": 0})
    assert await server.left_out(world) == {"same": "DuplicateName"}
    (error,) = await server.errors(world)
    assert error["document"] == 3
    world.write("a", marked("cds", "other"), marked("cds", "same", 2))
    await stream.holding("cds", {"same": 2, "other": 0})
    assert await server.left_out(world) == {}


async def test_a_name_is_free_in_other_groups_and_types(server: Server, clients: Clients, world: World) -> None:
    other = server.world()
    world.write("all", *(marked(key, "same", 1) for key in MAIN))
    other.write("all", *(marked(key, "same", 2) for key in MAIN))
    for group, mark in ((world, 1), (other, 2)):
        stream = await clients.stream(BOTH[1], group)
        for key in MAIN:
            stream.ask(key, "same")
        for key in MAIN:
            await stream.holding(key, {"same": mark})
        assert await server.left_out(group) == {}

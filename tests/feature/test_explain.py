"""From what is served, and from what was refused, to the line of the file that made it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.client import refuse
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, Variant
from xds_server.demo.polling import until


async def explained(server: Server, world: World, key: str, name: str) -> Any:
    return await server.get(f"/v1/explain?group={world.group}&type={key}&name={name}")


def prepend(world: World, file: str, text: str) -> None:
    path = world.folder / f"{file}.yaml"
    draft = path.with_suffix(".draft")
    draft.write_text(text + path.read_text())
    draft.rename(path)


@pytest.mark.parametrize("variant", BOTH)
async def test_a_line_that_moves_is_told_and_nothing_is_sent(
    server: Server, clients: Clients, variant: Variant
) -> None:
    world = server.world()
    world.write("a", marked("cds", "a", 1), marked("cds", "b", 1))
    stream = await clients.stream(variant, world)
    stream.ask("cds", "*")
    await stream.holding("cds", {"a": 1, "b": 1})
    before = await explained(server, world, "cds", "b")
    prepend(world, "a", "# one\n# two\n# three\n")

    async def moved() -> Any:
        answer = await explained(server, world, "cds", "b")
        return answer if answer["objects"][0]["line"] == before["objects"][0]["line"] + 3 else None

    after = await until(moved, within=10, what="the line moves")
    assert after["version"] == before["version"]
    assert after["observations"] == []
    assert (after["objects"][0]["path"], after["objects"][0]["document"]) == (str(world.folder / "a.yaml"), 2)
    await stream.quiet()


@pytest.mark.parametrize("variant", BOTH)
async def test_a_refusal_names_its_lines_also_after_they_have_moved(
    server: Server, clients: Clients, variant: Variant
) -> None:
    world = server.world()
    world.write("a", marked("rds", "a", 1), marked("rds", "b", 1))
    stream = await clients.stream(variant, world, id=f"{world.group}-node")
    stream.ask("rds", "a", "b")
    await stream.holding("rds", {"a": 1, "b": 1})
    stream.answer = refuse
    world.write("a", marked("rds", "a", 1), marked("rds", "b", 2))

    async def culprit() -> Any:
        nacked = (await server.node(f"{world.group}-node"))["types"]["rds"]["nacked"]
        return nacked["culprit"] if nacked else None

    (told,) = await until(culprit, within=10, what="a culprit")
    assert (told["path"], told["name"], told["document"]) == (str(world.folder / "a.yaml"), "b", 2)
    prepend(world, "a", "# one\n")

    async def moved() -> bool:
        (now,) = await culprit()
        return bool(now["line"] == told["line"] + 1)

    await until(moved, within=10, what="the line of the culprit moves")


async def test_a_group_says_what_keeps_it_from_being_programmed(server: Server, clients: Clients) -> None:
    world = server.world()
    world.write("a", marked("lds", "a", 1))
    stream = await clients.stream(Variant.DELTA, world, answer=refuse)
    stream.ask("lds", "*")
    await stream.holding("lds", {"a": 1})

    async def standing() -> Any:
        answer = await server.group(world)
        return answer if answer["withheld"] else None

    answer = await until(standing, within=10, what="what is withheld")
    (withheld,) = answer["withheld"]
    assert withheld["origin"][0]["line"] == 1
    assert not answer["programmed"]
    assert "lds 'a' was refused by" in answer["reason"]


async def test_explain_says_why_a_resource_is_not_there(server: Server) -> None:
    world = server.world()
    world.write("a", marked("lds", "a", 1))
    await server.served(world)
    status, text = await server.request(f"/v1/explain?group={world.group}&type=lds&name=b")
    assert (status, json.loads(text)["status"]) == (404, 404)

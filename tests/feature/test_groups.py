"""Groups: which one a node is in, what it is served when nothing is declared for it, and versions made of content."""

from __future__ import annotations

import json

import pytest

from tests.conformance.client import Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, MAIN, Variant, marks_of, node_of
from xds_server.demo.yaml_files import replace_file, write_documents


async def _of_node(clients: Clients, variant: Variant, **node: str) -> Stream:
    """A stream of a node that is named by its fields only."""
    stream = await clients.bare(variant)
    stream.node = node_of(f"node-{variant}", **node)  # type: ignore[arg-type]
    stream.ask("cds")
    return stream


@pytest.mark.parametrize("variant", BOTH)
async def test_metadata_before_cluster_before_default(server: Server, clients: Clients, variant: Variant) -> None:
    by_metadata, by_cluster = server.world("metadata"), server.world("cluster")
    by_metadata.write("a", marked("cds", "a", "metadata"))
    by_cluster.write("a", marked("cds", "a", "cluster"))
    file = server.files / "in-default.yaml"
    write_documents(file, [marked("cds", "a", "default")])
    cases: tuple[tuple[str, dict[str, str]], ...] = (
        ("metadata", {"group": by_metadata.group, "cluster": by_cluster.group}),
        ("cluster", {"cluster": by_cluster.group}),
        ("default", {}),
    )
    try:
        for mark, node in cases:
            stream = await _of_node(clients, variant, **node)
            await stream.holding("cds", {"a": mark})
    finally:
        file.unlink()


async def test_files_in_folders_below_a_group(clients: Clients, world: World) -> None:
    deep = world.folder / "team" / "group=other"
    deep.mkdir(parents=True)
    write_documents(deep / "a.yaml", [marked("cds", "a", 1)])
    stream = await clients.stream(Variant.SOTW, world)
    stream.ask("cds")
    await stream.holding("cds", {"a": 1})


@pytest.mark.parametrize("variant", BOTH)
async def test_a_node_of_an_unknown_group_gets_nothing_and_later_its_content(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    stream = await clients.stream(variant, world, f"early-{world.group}")
    for key in MAIN:
        stream.ask(key, *(() if key in {"cds", "lds"} else ("a",)))
    for key in ("cds", "lds"):
        assert not (await stream.next(key, within=2)).names
    assert (await server.node(f"early-{world.group}"))["group"] == world.group
    world.write("all", *(marked(key, "a", 1) for key in MAIN))
    for key in MAIN:
        await stream.holding(key, {"a": 1})


async def test_a_group_that_nobody_declares_is_forgotten(server: Server, clients: Clients) -> None:
    world = server.world("passing")
    async with server.clients() as mine:
        stream = await mine.stream(Variant.SOTW, world)
        stream.ask("cds")
        await stream.next("cds")
        assert world.group in [group["name"] for group in (await server.get("/v1/groups"))["groups"]]
    witness = await clients.stream(Variant.SOTW, server.world())
    witness.ask("cds")
    await witness.next("cds")
    assert world.group not in [group["name"] for group in (await server.get("/v1/groups"))["groups"]]


async def test_a_b_a_ends_at_the_same_versions(server: Server, clients: Clients, world: World) -> None:
    stream = await clients.stream(Variant.DELTA, world)
    seen = []
    for mark in ("A", "B", "A"):
        world.write("all", *(marked(key, "a", mark) for key in MAIN))
        for key in MAIN:
            stream.ask(key, "a")
        for key in MAIN:
            await stream.holding(key, {"a": mark})
        group = await server.group(world)
        last = {key: stream.of(key)[-1] for key in MAIN}
        for key in MAIN:
            assert last[key].version == group["types"][key]["version"]
        seen.append((group["version"], group["types"], {key: last[key].versions["a"] for key in MAIN}))
    assert seen[0] == seen[2]
    assert all(seen[0][1][key] != seen[1][1][key] for key in MAIN)
    assert (await server.group(world))["seq"] == 3


async def test_the_same_content_in_another_form_is_no_change(server: Server, clients: Clients, world: World) -> None:
    document = marked("cds", "a", 1)
    world.write("a", document)
    stream = await clients.stream(Variant.SOTW, world)
    stream.ask("cds")
    await stream.holding("cds", {"a": 1})
    before, seen = await server.group(world), len(stream.received)
    again = {"@type": document["@type"], **dict(reversed(list(document.items()))), "connectTimeout": "1.000s"}
    del again["connect_timeout"]
    replace_file(world.folder / "z.json", json.dumps({"resources": [again]}))
    await server.served(world, after=before["seq"])
    world.remove("a")
    await server.served(world, after=before["seq"] + 1)
    await stream.quiet("lds", seconds=0.3)
    assert len(stream.received) == seen
    after = await server.group(world)
    assert (after["version"], after["types"]) == (before["version"], before["types"])
    assert marks_of(stream.holds["cds"]) == {"a": "1"}

"""K49: what a client sees when files are swapped the ConfigMap way, deleted, written slowly, broken, or renamed."""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest

from tests.conformance.client import SLACK, Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import Variant, marks_of
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import replace_file, to_yaml

LIMIT = 2.0
"""Seconds from a change of files to its arrival."""


def _text(mark: object) -> str:
    return to_yaml(marked("cds", "a", mark), marked("cds", "b", mark))


async def _stream(clients: Clients, world: World) -> Stream:
    """A delta stream that holds content 0."""
    stream = await clients.stream(Variant.DELTA, world)
    stream.ask("cds")
    await stream.holding("cds", {"a": 0, "b": 0})
    return stream


async def test_k49_a_symlink_swaps(clients: Clients, world: World) -> None:
    def swap(number: int) -> None:
        fresh, link, old = world.folder / f"..{number}", world.folder / "..data_tmp", world.folder / f"..{number - 1}"
        fresh.mkdir()
        (fresh / "world.yaml").write_text(_text(number))
        link.symlink_to(fresh.name)
        link.replace(world.folder / "..data")
        shutil.rmtree(old, ignore_errors=True)

    swap(0)
    (world.folder / "world.yaml").symlink_to("..data/world.yaml")
    stream = await _stream(clients, world)
    seen = len(stream.received)
    for number in range(1, 21):
        swap(number)
        await stream.holding("cds", {"a": number, "b": number}, within=LIMIT)
    await stream.quiet()
    assert len(stream.received) == seen + 20


async def test_k49_b_deleted_and_created_again(clients: Clients, world: World) -> None:
    file = world.folder / "world.yaml"
    replace_file(file, _text(0))
    stream = await _stream(clients, world)
    seen = len(stream.received)
    for number in range(1, 4):
        file.unlink()
        await stream.holding("cds", {}, within=LIMIT)
        file.write_text(_text(number))
        await stream.holding("cds", {"a": number, "b": number}, within=LIMIT)
    await stream.quiet()
    assert len(stream.received) == seen + 6


async def test_k49_c_a_slow_writer(server: Server, clients: Clients, world: World) -> None:
    file = world.folder / "world.yaml"
    replace_file(file, _text(0))
    stream = await _stream(clients, world)
    seen = len(stream.received)
    text = _text(1)
    third = len(text) // 3
    with file.open("w") as out:
        for part in (text[:third], text[third : 2 * third], text[2 * third :]):
            out.write(part)
            out.flush()
            await asyncio.sleep(0.3)
    await stream.holding("cds", {"a": 1, "b": 1}, within=LIMIT)
    await stream.quiet()
    assert len(stream.received) == seen + 1, "one new version, and never a partial one"


async def test_k49_d_broken_yaml(server: Server, clients: Clients, world: World) -> None:
    file = world.folder / "world.yaml"
    replace_file(file, _text(0))
    stream = await _stream(clients, world)
    before = await server.metric("tidegate_source_errors")
    replace_file(file, _text(1) + "\n---\n resources: [\n  - {")

    async def told() -> bool:
        return await server.metric("tidegate_source_errors") > before

    await until(told, within=LIMIT * SLACK, what="the error shows in the metrics")
    await stream.quiet()
    assert marks_of(stream.holds["cds"]) == {"a": "0", "b": "0"}
    replace_file(file, _text(2))
    await stream.holding("cds", {"a": 2, "b": 2}, within=LIMIT)

    async def taken_back() -> bool:
        return await server.metric("tidegate_source_errors") == before

    await until(taken_back, within=LIMIT * SLACK, what="the error is gone")


@pytest.mark.parametrize("name", ["world.yaml", "world.yml", "world.json"])
async def test_k49_e_renames_over_the_file(clients: Clients, world: World, name: str) -> None:
    replace_file(world.folder / name, _text_for(name, 0))
    stream = await _stream(clients, world)
    seen = len(stream.received)
    for number in range(1, 11):
        replace_file(world.folder / name, _text_for(name, number))
        await stream.holding("cds", {"a": number, "b": number}, within=LIMIT)
    await stream.quiet()
    assert len(stream.received) == seen + 10


def _text_for(name: str, mark: int) -> str:
    """YAML documents; in a JSON file Envoy's own form with `resources`."""
    if not name.endswith("json"):
        return _text(mark)
    resources = [marked("cds", "a", mark), marked("cds", "b", mark)]
    return json.dumps({"version_info": str(mark), "resources": resources})

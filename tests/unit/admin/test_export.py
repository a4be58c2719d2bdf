"""The archive: what is in it, and that no secret is."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import Any

from tests.unit.admin.client import Client
from tests.unit.admin.documents import KEY
from tests.unit.admin.world import World


def entries(body: bytes) -> dict[str, Any]:
    """The JSON of each entry by name."""
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        files = {member.name: archive.extractfile(member) for member in archive}
        return {name: json.loads(file.read()) for name, file in files.items() if file is not None}


async def export(client: Client, query: str = "?group=default") -> bytes:
    async with client.http.get(f"/v1/export{query}") as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "application/gzip"
        assert response.headers["Content-Disposition"].startswith('attachment; filename="tidegate-default-')
        return await response.read()


async def test_an_archive_has_all_that_is_needed(client: Client, world: World) -> None:
    found = entries(await export(client))
    resources = [name for name in found if name.startswith("resources/")]
    assert found.keys() - resources == {
        "manifest.json",
        "nodes.json",
        "events.json",
        "inputs.json",
        "settings.json",
    }
    manifest = found["manifest.json"]
    assert (manifest["group"], manifest["version"], manifest["seq"]) == ("default", world.second.version, 2)
    assert manifest["libraries"]["grpcio"]
    assert manifest["left_out"][0]["name"] == "ghost"
    assert [node["id"] for node in found["nodes.json"]["nodes"]] == ["n1", "n2", "n2"]
    items = [item for name in resources for item in found[name]["resources"]]
    assert {item["name"] for item in items} == {each.name for types in world.second.types.values() for each in types}


async def test_an_older_version_by_its_seq(client: Client, world: World) -> None:
    assert entries(await export(client, "?group=default&version=1"))["manifest.json"]["version"] == world.first.version


async def test_equal_content_gives_an_equal_archive(client: Client) -> None:
    assert await export(client) == await export(client)


async def test_no_key_is_in_an_archive(client: Client, world: World) -> None:
    message = f"can't read the key '{KEY}' of cert"
    world.bus.emit("nack", {"group": "default", "message": message})  # type: ignore[arg-type]
    plain = gzip.decompress(await export(client, "?group=default&version=1"))
    assert b"can't read the key" in plain
    assert b"cert" in plain
    for line in (KEY, "PRIVATE KEY", *(line for line in KEY.split("\n") if len(line) > 4)):
        assert line.encode() not in plain


async def test_what_is_not_there(client: Client) -> None:
    await client.problem("/v1/export", 400)
    await client.problem("/v1/export?group=nowhere", 404)
    await client.problem("/v1/export?group=default&version=99", 404)

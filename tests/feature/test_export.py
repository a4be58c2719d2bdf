"""Export and replay with real processes: the same resources and versions elsewhere, and no key on the way."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.feature.commands import tidegate
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.polling import until
from xds_server.demo.world import (
    Document,
    assignment,
    certificate_secret,
    cluster,
    listener,
    route,
    routes,
    secret_reference,
)
from xds_server.demo.yaml_files import write_documents

pytestmark = pytest.mark.timeout(180)

KEY = "-----BEGIN PRIVATE KEY-----\nplanted-key-of-a-test\n-----END PRIVATE KEY-----\n"
TICKET = "cGxhbnRlZC10aWNrZXQta2V5LW9mLWEtdGVzdC1wbGFudGVk"
TOKEN = "planted-token-of-a-test"
PREFIX = "type.googleapis.com/envoy."


def world() -> list[Document]:
    """Resources with a secret in each place where one can be: text, bytes, header, free JSON."""
    table = routes("table", [route("one")])
    table["request_headers_to_add"] = [{"header": {"key": "authorization", "value": f"Bearer {TOKEN}"}}]
    ticket = {
        "@type": f"{PREFIX}extensions.transport_sockets.tls.v3.Secret",
        "name": "ticket",
        "session_ticket_keys": {"keys": [{"inline_bytes": TICKET}]},
    }
    one = cluster("one", metadata={"filter_metadata": {"mine": {"password": TOKEN, "n": 1}}})
    pair = certificate_secret("pair", "chain", KEY)
    return [one, assignment("one", [80]), listener("edge", "table", tls=secret_reference("pair")), table, pair, ticket]


async def test_an_archive_replays_with_the_same_resources_and_versions_and_holds_no_key(tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path / "first")
    write_documents(plane.files / "world.yaml", world())
    (plane.files / "group=edge").mkdir()
    write_documents(plane.files / "group=edge" / "more.yaml", world())
    broken = f"'@type': {PREFIX}config.cluster.v3.Cluster\nname: broken\nlb_policy: {TOKEN}\n"
    (plane.files / "zbroken.yaml").write_text(broken)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(plane.stop)
        await plane.start()
        for group in ("default", "edge"):
            await _replays(plane, group, tmp_path / f"{group}.tar.gz")


async def _replays(plane: ControlPlane, group: str, archive: Path) -> None:
    await tidegate("export", "--group", group, "-o", str(archive), "--admin", plane.admin)
    served = await plane.group(group)
    plain = gzip.decompress(await asyncio.to_thread(archive.read_bytes))
    assert b"broken" in plain
    assert b"planted" not in plain
    assert TICKET.encode() not in plain
    rendered = json.loads(await tidegate("render", str(archive), "-o", "json"))["groups"]
    versions = await plane.get(f"/v1/groups/{group}/versions/{served['seq']}")
    assert [(each["group"], each["version"]) for each in rendered] == [(group, served["version"])]
    assert _plain(rendered[0]["resources"]) == _plain(versions["resources"])
    await _serves_the_same(archive, served)


def _plain(resources: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return sorted((each["type"], each["name"], each["version"]) for each in resources)


async def _serves_the_same(archive: Path, served: dict[str, Any]) -> None:
    """`serve --files ARCHIVE` has the group with the same versions of all types."""
    addresses = archive.with_suffix(".addresses")
    arguments = ["serve", "--files", str(archive), "--xds-address", "127.0.0.1:0", "--admin-address", "127.0.0.1:0"]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "xds_server", *arguments, "--address-file", str(addresses)),
        stderr=asyncio.subprocess.DEVNULL,
    )

    async def same() -> bool:
        if not addresses.exists():
            return False
        admin = json.loads(addresses.read_text())["admin"]
        shown = json.loads(await tidegate("status", "--admin", admin, "-o", "json"))
        groups = {each["name"]: each for each in shown["groups"]}
        found = groups.get(served["name"])
        return found is not None and (found["version"], found["types"]) == (served["version"], served["types"])

    try:
        await until(same, within=60, what="the archive is served", interval=0.3)
    finally:
        process.terminate()
        assert await process.wait() == 0

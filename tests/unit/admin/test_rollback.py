"""`/v1/groups/{group}/rollback`: who may, what is asked for, what comes of it and where it is shown."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.unit.admin.client import Client, problem_of
from tests.unit.admin.world import NOW_TEXT, World
from xds_server.ir.events import EventKind
from xds_server.wire.types import CLUSTER, ROUTE, SECRET

PATH = "/v1/groups/default/rollback"


async def send(client: Client, method: str, body: Any, path: str = PATH) -> Any:
    async with client.http.request(method, path, json=body) as response:
        assert response.status == 200, await response.text()
        return await response.json()


async def test_a_rollback_holds_until_it_is_released(client: Client, world: World) -> None:
    group = await send(client, "POST", {"to": world.first.version, "reason": "slow"})
    shown = {key: each["version"] for key, each in group["types"].items()}
    assert (shown["cds"], shown["rds"]) == (world.first.types[CLUSTER].version, world.first.types[ROUTE].version)
    assert shown["sds"] == world.second.types[SECRET].version, "the renewed key stays"
    assert group["seq"] == 3
    held = {"to": world.first.version, "by": "127.0.0.1", "reason": "slow", "since": group["created"]}
    assert group["held"] == {**held, "stored": None}
    assert group["origin"] == {"source": "rollback", "change": "to seq 1: slow"}
    assert await client.get("/v1/groups/default") == group
    assert world.stored == 1
    released = await send(client, "DELETE", {"reason": "repaired"})
    assert (released["version"], released["seq"], released["held"]) == (world.second.version, 4, None)
    assert [event.kind for event in world.bus.recent()] == [EventKind.VERSION] * 2


async def test_a_version_is_named_by_its_seq_too(client: Client, world: World) -> None:
    for to in ("1", 1):
        assert (await send(client, "POST", {"to": to, "reason": "x"}))["held"]["to"] == world.first.version


async def test_both_are_in_the_audit_log_with_actor_and_reason(client: Client, world: World) -> None:
    group = await send(client, "POST", {"to": 1, "reason": "slow"})
    held = {key: value for key, value in group["held"].items() if key != "stored"}
    old, new = group["version"], world.second.version
    await send(client, "DELETE", {"reason": "repaired"})
    entries = (await client.get("/v1/audit"))["entries"]
    told = [(each["actor"], each["action"], each["reason"], each["before"], each["after"]) for each in entries]
    assert told == [
        ("127.0.0.1", "release", "repaired", held, None),
        ("release", "version", "repaired", old, new),
        ("127.0.0.1", "rollback", "slow", None, held),
        ("rollback", "version", "to seq 1: slow", None, old),
    ]
    assert {each["target"] for each in entries} == {"default"}
    assert {each["at"] for each in entries} == {NOW_TEXT}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"to": 1}, "reason"),
        ({"to": 1, "reason": ""}, "reason"),
        ({"to": 1, "reason": "  "}, "reason"),
        ({"to": 1, "reason": "\x1c\ufeff"}, "reason"),
        ({"to": 1, "reason": "x" * 1001}, "reason"),
        ({"reason": "x"}, "to"),
        ({"to": [], "reason": "x"}, "to"),
        ({"to": 1, "reason": "x", "typo": 1}, "typo"),
        ([], ""),
    ],
)
async def test_a_wrong_body_names_its_field(client: Client, world: World, body: Any, field: str) -> None:
    async with client.http.post(PATH, json=body) as response:
        document = await problem_of(response, 400)
    assert [each["field"] for each in document["errors"]] == [field]
    assert world.group.current is world.second


async def test_what_is_no_json_is_refused(client: Client) -> None:
    async with client.http.post(PATH, data=b"{", headers={"Content-Type": "application/json"}) as response:
        assert "no valid JSON" in (await problem_of(response, 400))["detail"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
async def test_a_page_of_strangers_can_not_send_it(client: Client, world: World, kind: str) -> None:
    """Browsers send these types to any site without asking it first."""
    body = b'{"to": 1, "reason": "x"}'
    async with client.http.post(PATH, data=body, headers={"Content-Type": kind}) as response:
        await problem_of(response, 415)
    assert world.group.current is world.second


async def test_an_unknown_group_and_an_unknown_version(client: Client) -> None:
    async with client.http.post("/v1/groups/nowhere/rollback", json={"to": 1, "reason": "x"}) as response:
        await problem_of(response, 404)
    for to in (99, "zz", "-1"):
        async with client.http.post(PATH, json={"to": to, "reason": "x"}) as response:
            assert (await problem_of(response, 404))["errors"][0]["field"] == "to"


async def test_releasing_what_is_not_held_is_a_conflict(client: Client) -> None:
    async with client.http.delete(PATH, json={"reason": "x"}) as response:
        await problem_of(response, 409)


async def test_a_body_that_is_too_large(client: Client) -> None:
    body = io.BytesIO(b" " * 17_000_000)
    async with client.http.post(PATH, data=body, headers={"Content-Type": "application/json"}) as response:
        await problem_of(response, 413)

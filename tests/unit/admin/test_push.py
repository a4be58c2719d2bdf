"""`/v1/push` over a real pipeline: what is answered, refused, shown and noted."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from tests.unit.admin.client import Client, problem_of
from tests.unit.admin.documents import cluster, endpoints
from tests.unit.admin.world import World
from xds_server.admin import create_app
from xds_server.settings.root import Settings
from xds_server.sources.files.parse import unsupported
from xds_server.sources.push import PushSource
from xds_server.sources.push.model import Limits
from xds_server.status.pushes import PushTies
from xds_server.status.state import State
from xds_server.translate.native import decode

PATH = "/v1/push/billing/edge"


@pytest.fixture
async def client(world: World) -> AsyncIterator[Client]:
    source = PushSource("push", decode, Limits(sets=2, resources=5))
    feed = world.pipeline.feed("push", "push")
    state = State(Settings(), lambda _resource: False, lambda: 0.0, unsupported)
    source.tie(PushTies(world.pipeline, world.groups, feed, world.audit, state))
    world.reports = world.pipeline.sources()
    tasks = [asyncio.create_task(world.pipeline.run()), asyncio.create_task(source.run(feed))]
    async with TestClient(TestServer(create_app(replace(world.deps(), push=source)))) as http:
        yield Client(http)
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def send(client: Client, method: str, body: Any, path: str = PATH) -> Any:
    async with client.http.request(method, path, json=body) as response:
        assert response.status == 200, await response.text()
        return await response.json()


async def refused(client: Client, status: int, method: str, body: Any, path: str = PATH) -> Any:
    async with client.http.request(method, path, json=body) as response:
        document = await response.json(content_type=None)
        assert response.status == status, document
        assert response.content_type == "application/problem+json"
        return document


def whole(version: str, *names: str, **more: Any) -> dict[str, Any]:
    resources = [each for name in names for each in (cluster(name), endpoints(name, 80))]
    return {"version": version, "resources": resources, **more}


async def served(client: Client, group: str = "edge") -> set[str]:
    versions = await client.get(f"/v1/groups/{group}")
    if not versions["seq"]:
        return set()
    content = await client.get(f"/v1/groups/{group}/versions/{versions['version']}")
    return {each["name"] for each in content["resources"] if each["type"] == "cds"}


async def test_put_replaces_patch_changes_delete_drops(client: Client) -> None:
    answer = await send(client, "PUT", whole("1", "a", "b"))
    group = await client.get("/v1/groups/edge")
    assert answer == {
        "owner": "billing",
        "group": "edge",
        "version": "1",
        "changed": True,
        "counts": {"cds": 2, "eds": 2, "lds": 0, "rds": 0, "sds": 0},
        "lease_s": None,
        "expires": None,
        "snapshot": {"version": group["version"], "seq": group["seq"]},
        "stored": None,
        "problems": [],
    }
    assert await served(client) == {"a", "b"}
    remove = [{"type": "cds", "name": "a"}, {"type": "eds", "name": "a"}]
    answer = await send(client, "PATCH", whole("2", "c", remove=remove, base="1"))
    assert await served(client) == {"b", "c"}
    assert answer["counts"]["cds"] == 2
    await send(client, "PUT", whole("3", "d"))
    assert await served(client) == {"d"}
    async with client.http.delete(PATH) as response:
        gone = await response.json()
    assert (gone["version"], gone["changed"], gone["counts"]["cds"]) == (None, True, 0)
    assert await served(client) == set()
    await refused(client, 404, "DELETE", None)


async def test_the_same_version_again_makes_no_snapshot(client: Client) -> None:
    first = await send(client, "PUT", whole("1", "a"))
    for method in ("PUT", "PATCH"):
        again = await send(client, method, whole("1", "other", lease_s=60))
        assert (again["changed"], again["snapshot"]) == (False, first["snapshot"])
        assert again["expires"] is not None
    equal = await send(client, "PUT", whole("2", "a"))
    assert (equal["changed"], equal["snapshot"]) == (True, first["snapshot"])


async def test_what_is_no_object_is_refused_even_under_a_version_that_is_in_force(client: Client) -> None:
    for _ in range(2):
        problem = await refused(client, 422, "PUT", {"version": "1", "resources": [{}, [None], None, "a"]})
        assert {each["field"] for each in problem["errors"]} >= {f"resources[{index}]" for index in (1, 2, 3)}
        await send(client, "PUT", whole("1", "a"))


async def test_a_version_may_be_a_number(client: Client) -> None:
    assert (await send(client, "PUT", whole("1", "a")))["changed"]
    assert not (await send(client, "PUT", {**whole("", "a"), "version": 1}))["changed"]
    assert (await send(client, "PATCH", {**whole("", "a"), "version": 2, "base": 1}))["version"] == "2"


async def test_a_fault_in_one_resource_is_told_by_field_and_changes_nothing(client: Client) -> None:
    first = await send(client, "PUT", whole("1", "a"))
    body = whole("2", "b", "c")
    body["resources"][3]["lb_policy"] = "X"
    for method in ("PUT", "PATCH"):
        problem = await refused(client, 422, method, body)
        assert [each["field"] for each in problem["errors"]] == ["resources[3].lb_policy"]
    assert await served(client) == {"a"}
    assert (await client.get("/v1/groups/edge"))["seq"] == first["snapshot"]["seq"]


async def test_a_base_that_is_not_in_force(client: Client) -> None:
    problem = await refused(client, 409, "PATCH", whole("2", "a", base="1"))
    assert problem["current"] is None
    await send(client, "PUT", whole("5", "a"))
    problem = await refused(client, 409, "PATCH", whole("2", "a", base="1"))
    assert (problem["current"], problem["errors"][0]["field"]) == ("5", "base")


async def test_names_of_another_owner_are_listed_and_nothing_is_taken(client: Client) -> None:
    await send(client, "PUT", whole("1", "a", "b"))
    problem = await refused(client, 409, "PUT", whole("1", "z", "b"), "/v1/push/eve/edge")
    assert problem["conflicts"] == [
        {"type": "cds", "name": "b", "holder": "billing"},
        {"type": "eds", "name": "b", "holder": "billing"},
    ]
    assert [each["field"] for each in problem["errors"]] == ["resources[2]", "resources[3]"]
    assert await served(client) == {"a", "b"}


async def test_what_is_not_served_is_told(client: Client) -> None:
    eds = {"eds_config": {"ads": {}, "resource_api_version": "V3"}}
    body = {"version": "1", "resources": [{**cluster("a"), "type": "EDS", "eds_cluster_config": eds}]}
    answer = await send(client, "PUT", body)
    assert [(each["reason"], each["path"]) for each in answer["problems"]] == [("NoAssignment", "billing")]


async def test_limits(client: Client) -> None:
    await send(client, "PUT", whole("1", "a", "b"))
    assert "max_resources" in (await refused(client, 429, "PATCH", whole("2", "c")))["detail"]
    await send(client, "PUT", {"version": "1"}, "/v1/push/billing/other")
    assert "max_sets" in (await refused(client, 429, "PUT", {"version": "1"}, "/v1/push/eve/edge"))["detail"]
    body = io.BytesIO(b" " * 17_000_000)
    async with client.http.put(PATH, data=body, headers={"Content-Type": "application/json"}) as response:
        await problem_of(response, 413)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "version"),
        ({"version": 1.5}, "version"),
        ({"version": "1", "resources": {}}, "resources"),
        ({"version": "1", "lease_s": "1m"}, "lease_s"),
        ({"version": "1", "lease_s": -1}, "lease_s"),
        ({"version": "1", "remove": [{"type": "cds"}]}, "remove[0]"),
        ({"version": "1", "remove": [{"type": "cds", "name": "a"}]}, "remove"),
        ({"version": "1", "base": "0"}, "base"),
        ({"version": "1", "resource": []}, "resource"),
        ([], ""),
    ],
)
async def test_what_is_no_request(client: Client, body: Any, field: str) -> None:
    problem = await refused(client, 400, "PUT", body)
    assert field in problem["errors"][0]["field"] + problem["errors"][0]["message"]


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ('{"version": "1", "version": "2"}', "version"),
        ('{"version": "1", "resources": [], "resources": [{}]}', "resources"),
        ('{"version": "1", "remove": [{"type": "cds", "name": "a", "name": "b"}]}', "name"),
    ],
)
async def test_a_key_that_stands_twice(client: Client, body: str, key: str) -> None:
    headers = {"Content-Type": "application/json"}
    async with client.http.patch(PATH, data=body, headers=headers) as response:
        problem = await problem_of(response, 400)
    assert problem["errors"] == [{"field": key, "message": f"the key '{key}' occurs twice in one mapping"}]


async def test_a_key_that_stands_twice_in_a_resource_is_told_with_the_resource(client: Client) -> None:
    body = '{"version": "1", "resources": [{}, {"name": "a", "name": "b"}]}'
    async with client.http.patch(PATH, data=body, headers={"Content-Type": "application/json"}) as response:
        problem = await problem_of(response, 422)
    assert problem["errors"][1]["field"] == "resources[1]"


async def test_what_is_no_json(client: Client) -> None:
    async with client.http.patch(PATH, data="{", headers={"Content-Type": "application/json"}) as response:
        assert (await problem_of(response, 400))["detail"] == "the body is no valid JSON"


async def test_removal_of_what_is_no_type(client: Client) -> None:
    await send(client, "PUT", whole("1", "a"))
    body = {"version": "2", "remove": [{"type": "cds", "name": "a"}, {"type": "bogus", "name": "x"}]}
    problem = await refused(client, 422, "PATCH", body)
    assert [each["field"] for each in problem["errors"]] == ["remove[1].type"]
    assert "'bogus'" in problem["detail"]
    assert "cds, eds, lds, rds, sds" in problem["detail"]


async def test_a_body_that_is_nested_too_deeply(client: Client) -> None:
    body = b'{"version": "1", "resources": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    async with client.http.put(PATH, data=body, headers={"Content-Type": "application/json"}) as response:
        await problem_of(response, 400)


async def test_everything_is_in_the_audit_log_but_what_changed_nothing(client: Client) -> None:
    await send(client, "PUT", whole("1", "a"))
    await send(client, "PUT", whole("1", "a"))
    await refused(client, 422, "PUT", {"version": "2", "resources": [{}]})
    async with client.http.delete(PATH):
        pass
    entries = [each for each in (await client.get("/v1/audit"))["entries"] if each["action"] == "push"]
    assert [(each["actor"], each["target"], each["reason"], each["before"]) for each in entries] == [
        ("127.0.0.1", "billing/edge", "dropped", {"version": "1"}),
        ("127.0.0.1", "billing/edge", "version 1", None),
    ]
    assert entries[1]["after"] == {"version": "1", "counts": {"cds": 1, "eds": 1}}


async def test_without_a_push_source(world: World) -> None:
    async with TestClient(TestServer(create_app(world.deps()))) as http:
        problem = await refused(Client(http), 404, "PUT", {"version": "1"})
    assert problem["detail"] == "no source of kind push is configured"

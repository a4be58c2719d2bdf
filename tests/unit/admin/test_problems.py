"""Errors: always problem documents, never the inside of the server."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from structlog.testing import capture_logs

from tests.unit.admin.client import Client, problem_of
from tests.unit.admin.world import World
from xds_server.admin import create_app

LATER = [
    "/v1/nodes/n1/configuration",
]


@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/", "/v1/groups/", "/v1/groups/a/b", *LATER])
async def test_unknown_paths(client: Client, path: str) -> None:
    problem = await client.problem(path, 404)
    assert path in problem["detail"]
    assert (problem["type"], problem["title"], problem["instance"]) == ("about:blank", "Not Found", path)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_unknown_methods(client: Client, method: str) -> None:
    async with client.http.request(method, "/v1/groups") as response:
        assert response.headers["Allow"] == "GET, HEAD"
        problem = await problem_of(response, 405)
        assert method in problem["detail"]


async def test_what_nobody_foresaw_is_logged_and_told_without_its_inside(
    client: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(group: str) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(world.tracker, "counts", fail)
    with capture_logs() as logs:
        problem = await client.problem("/v1/groups", 500)
    assert "secret" not in str(problem)
    assert [(each["event"], each["log_level"], each["path"]) for each in logs] == [
        ("admin_request_failed", "error", "/v1/groups")
    ]


async def test_not_ready_is_a_problem_with_the_reason(client: Client, world: World) -> None:
    assert await client.get("/readyz") == {"status": "ok"}
    world.not_ready = "source files is not synced"
    assert (await client.problem("/readyz", 503))["detail"] == "source files is not synced"
    assert await client.get("/healthz") == {"status": "ok"}


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:19000", "127.0.0.1:19000", "[::1]:19000", "10.0.0.1", "Own:1"]
)
async def test_known_hosts_are_answered(world: World, host: str) -> None:
    async with (
        TestClient(TestServer(create_app(world.deps(), ["own"]))) as http,
        http.get("/healthz", headers={"Host": host}) as response,
    ):
        assert response.status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:19000", "127.0.0.1.evil.example", ""])
async def test_strange_hosts_are_refused_behind_loopback(world: World, host: str) -> None:
    async with (
        TestClient(TestServer(create_app(world.deps(), ["own"]))) as http,
        http.get("/healthz", headers={"Host": host}) as response,
    ):
        assert host.partition(":")[0] in (await problem_of(response, 421))["detail"]


async def test_head_answers_as_get_without_a_body(client: Client) -> None:
    async with client.http.head("/v1/groups") as response:
        assert response.status == 200
        assert await response.read() == b""


def test_the_application_is_plain_aiohttp(world: World) -> None:
    assert isinstance(create_app(world.deps()), web.Application)

"""K103: who may read and who may write, by token or from this machine; what is answered to everybody else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request

from tests.unit.admin.client import Http, problem_of, text_of
from tests.unit.admin.world import World
from xds_server.admin import create_app
from xds_server.admin.operations import OPERATIONS
from xds_server.admin.rights import CALLER, Caller, Rights, Role, ask_rights, is_here, rights_of
from xds_server.credentials.watched import Credentials
from xds_server.settings.admin import Tokens

TOKENS = {"reader": "planted-reader-0123456789", "operator": "planted-operator-0123456789"}
OPEN = {"/healthz", "/readyz", "/metrics"}
ROLLBACK = "/v1/groups/default/rollback"
BODY = {"to": "1", "reason": "test"}

Serve = Callable[..., Awaitable[Http]]


def bearer(role: str) -> dict[str, str]:
    """The header of a role."""
    return {"Authorization": f"Bearer {TOKENS[role]}"} if role else {}


def rights(folder: Path, *roles: str) -> Rights:
    """The rights when the tokens of these roles are set."""
    for role in roles:
        (folder / role).write_text(f"{TOKENS[role]}\n")
    return rights_of(Tokens.model_validate({role: folder / role for role in roles}), Credentials())


@pytest.fixture
async def serve(world: World, tmp_path: Path) -> AsyncIterator[Serve]:
    """Serves the API with the tokens of these roles set."""
    async with AsyncExitStack() as stack:

        async def made(*roles: str) -> Http:
            app = create_app(world.deps(), (), rights(tmp_path, *roles))
            return await stack.enter_async_context(TestClient(TestServer(app)))

        yield made


def _path(template: str) -> str:
    path = template.format(group="default", version="1", node="n2", owner="billing", namespace="shop", name="edge")
    return f"{path}?group=default&type=cds&name=one" if template in ("/v1/explain", "/v1/export") else path


READS = [each.path for each in OPERATIONS if each.method == "GET" and each.path != "/v1/events"]
WRITES = [(each.method, each.path) for each in OPERATIONS if each.method != "GET"]


async def test_k103_reads_need_a_token_when_a_reader_is_set(serve: Serve) -> None:
    http = await serve("reader", "operator")
    for template in [*READS, "/v1/events", "/nowhere"]:
        if template in OPEN:
            async with http.get(template) as response:
                assert response.status == 200, template
            continue
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKENS['reader']}"}):
            async with http.get(_path(template), headers=headers) as response:
                await problem_of(response, 401)
                assert response.headers["WWW-Authenticate"].startswith('Bearer realm="tidegate"'), template
        for role in ("reader", "operator"):
            if template in READS:
                async with http.get(_path(template), headers=bearer(role)) as response:
                    assert response.status == 200, template


async def test_k103_writes_need_the_operator(serve: Serve) -> None:
    http = await serve("reader", "operator")
    assert WRITES
    for method, template in WRITES:
        path = _path(template)
        async with http.request(method, path, json=BODY) as response:
            await problem_of(response, 401)
        async with http.request(method, path, json=BODY, headers=bearer("reader")) as response:
            await problem_of(response, 403)
            assert 'error="insufficient_scope"' in response.headers["WWW-Authenticate"]
        async with http.request(method, path, json=BODY, headers=bearer("operator")) as response:
            assert response.status not in (401, 403)


async def test_who_wrote_is_in_the_audit_log(serve: Serve, world: World) -> None:
    http = await serve("operator")
    async with http.post(ROLLBACK, json=BODY, headers=bearer("operator")) as response:
        assert response.status == 200
        assert (await response.json())["held"]["by"] == "operator"
    http = await serve()
    async with http.delete(ROLLBACK, json={"reason": "x"}) as response:
        assert response.status == 200
    assert [entry.actor for entry in world.deps().audit.page(None, 2)[0]][:1] == ["127.0.0.1"]


async def test_only_an_operator_is_set(serve: Serve) -> None:
    http = await serve("operator")
    async with http.get("/v1/groups") as response:
        assert response.status == 200
    async with http.post(ROLLBACK, json=BODY) as response:
        await problem_of(response, 401)


async def test_only_a_reader_is_set(serve: Serve) -> None:
    """Writes are then taken from this machine, as without any token."""
    http = await serve("reader")
    async with http.get("/v1/groups") as response:
        await problem_of(response, 401)
    async with http.post(ROLLBACK, json=BODY) as response:
        assert response.status == 200


@pytest.mark.parametrize("name", ["Forwarded", "X-Forwarded-For"])
async def test_without_an_operator_a_proxy_on_this_machine_may_not_write(serve: Serve, name: str) -> None:
    http = await serve()
    async with http.post(ROLLBACK, json=BODY, headers={name: "10.0.0.1"}) as response:
        await problem_of(response, 403)


async def test_two_headers_are_one_too_many(serve: Serve) -> None:
    http = await serve("reader")
    headers = [("Authorization", f"Bearer {TOKENS['reader']}")] * 2
    async with http.get("/v1/groups", headers=headers) as response:
        await problem_of(response, 401)


async def test_no_answer_and_no_log_repeats_a_token(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    http = await serve("reader", "operator")
    shown = []
    for template in READS:
        for role in ("", *TOKENS):
            async with http.get(_path(template), headers=bearer(role)) as response:
                shown.append(await text_of(response))
        async with http.get(f"{_path(template)}", headers={"Authorization": TOKENS["reader"]}) as response:
            shown.append(await text_of(response))
    shown += capfd.readouterr()
    assert not [text for text in shown for token in TOKENS.values() if token in text]


def _request(remote: str | None, **headers: str) -> web.Request:
    made: Any = make_mocked_request("POST", ROLLBACK, headers=headers)
    request: web.Request = made.clone(remote=remote or "nobody")
    return request


@pytest.mark.parametrize("remote", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_what_this_machine_is(remote: str) -> None:
    assert is_here(_request(remote))


@pytest.mark.parametrize("remote", ["10.0.0.1", "", None, "::ffff:10.0.0.1", "localhost"])
async def test_other_machines_may_not_write_without_an_operator(remote: str | None) -> None:
    async def handler(_request: web.Request) -> web.StreamResponse:
        raise AssertionError("reached")

    response = await ask_rights(Rights())(_request(remote), handler)
    assert response.status == 403


async def test_handlers_learn_who_calls(tmp_path: Path) -> None:
    seen: list[Caller] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request[CALLER])
        return web.Response()

    check = ask_rights(rights(tmp_path, "reader", "operator"))
    for role in ("", "reader", "operator"):
        made: Any = make_mocked_request("GET", "/healthz", headers=bearer(role))
        await check(made.clone(remote="10.0.0.1"), handler)
    assert seen == [
        Caller(Role.ANYBODY, "10.0.0.1"),
        Caller(Role.READER, "reader"),
        Caller(Role.OPERATOR, "operator"),
    ]


async def test_a_token_file_is_read_again(serve: Serve, world: World, tmp_path: Path) -> None:
    credentials = Credentials()
    (tmp_path / "reader").write_text("old")
    made = rights_of(Tokens(reader=tmp_path / "reader"), credentials)
    (tmp_path / "reader").write_text("new and broken")
    credentials._check()
    credentials._check()
    assert made.role("old") is Role.READER
    (tmp_path / "reader").write_text("newer")
    credentials._check()
    assert (made.role("old"), made.role("newer")) == (Role.ANYBODY, Role.READER)


async def test_the_document_says_what_needs_a_token(serve: Serve) -> None:
    for roles in ((), ("reader",), ("operator",), ("reader", "operator")):
        http = await serve(*roles)
        async with http.get("/openapi.json", headers=bearer(roles[-1] if roles else "")) as response:
            paths = (await response.json())["paths"]
        for path, method in ((path, method) for path, item in paths.items() for method in item):
            needed = ("reader" if method == "get" else "operator") in roles and path not in OPEN
            assert paths[path][method]["security"] == ([{"bearer": []}] if needed else []), (roles, method, path)


async def test_what_is_open_answers_alike_to_everybody(serve: Serve) -> None:
    http = await serve("reader", "operator")
    for role in ("", "reader", "operator"):
        async with http.request("TRACE", "/healthz", headers=bearer(role)) as response:
            await problem_of(response, 405)

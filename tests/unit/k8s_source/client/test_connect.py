"""From a pod's service account or a kubeconfig to requests, as a server sees them."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from k8s_source.client.connect import Connection, connect
from k8s_source.client.errors import ApiError


@dataclass
class Server:
    """Lets in who has the right token, and remembers what it was asked with."""

    url: str = ""
    token: str = "one"
    answers: list[web.Response] = field(default_factory=list)
    asked: list[web.Request] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        if self.answers:
            return self.answers.pop(0)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"reason": "Unauthorized"}, status=401)
        return web.Response(body=b"{}")


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", made.answer)
    async with TestServer(application) as listening:
        made.url = f"http://127.0.0.1:{listening.port}"
        yield made


def kubeconfig(path: Path, server: str, **user: object) -> Path:
    """Two contexts: `good`, and the current one, whose server is not there."""
    content = {
        "current-context": "bad",
        "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in ("good", "bad")],
        "clusters": [
            {"name": "good", "cluster": {"server": server}},
            {"name": "bad", "cluster": {"server": "http://127.0.0.1:1"}},
        ],
        "users": [{"name": "me", "user": user}],
    }
    path.write_bytes(msgspec.json.encode(content))
    return path


async def ask(options: Connection, **environ: str) -> None:
    api = connect(options, environ)
    try:
        await api.request("GET", "/version", timeout=5)
    finally:
        await api.close()


async def test_a_context_of_a_kubeconfig(server: Server, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", server.url, token="one")
    await ask(Connection(path, "good", "tidegate/1.2"))
    (request,) = server.asked
    assert request.headers["User-Agent"] == "tidegate/1.2"
    assert request.headers["Accept"] == "application/json"
    with pytest.raises(ApiError) as found:
        await ask(Connection(path))
    assert found.value.status == 0


async def test_the_users_default_kubeconfig(server: Server, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", server.url, token="one")
    await ask(Connection(context="good"), KUBECONFIG=str(path))
    assert len(server.asked) == 1


async def test_a_token_file_is_read_again_after_a_refusal(server: Server, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    api = connect(Connection(kubeconfig(tmp_path / "config", server.url, tokenFile="token"), "good"))
    await api.request("GET", "/version")
    server.token = "two"
    (tmp_path / "token").write_text("two\n")
    with pytest.raises(ApiError) as found:
        await api.request("GET", "/version")  # they were read less than a second ago
    assert found.value.status == 401
    api._credentials._looked -= 1
    await api.request("GET", "/version")
    assert len(server.asked) == 4
    await api.close()


async def test_a_plug_in_is_asked_and_asked_again_after_a_refusal(server: Server, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    plug_in = tmp_path / "plug-in"
    version = "client.authentication.k8s.io/v1"
    plug_in.write_text(
        "#!/bin/sh\n"
        f'echo "{{\\"apiVersion\\": \\"{version}\\", \\"kind\\": \\"ExecCredential\\",'
        f' \\"status\\": {{\\"token\\": \\"$(cat {token})\\"}}}}"\n'
    )
    plug_in.chmod(plug_in.stat().st_mode | stat.S_IXUSR)
    run = {"apiVersion": version, "command": str(plug_in)}
    api = connect(Connection(kubeconfig(tmp_path / "config", server.url, exec=run), "good"))
    await api.request("GET", "/version")
    server.token = "two"
    token.write_text("two")
    api._credentials._looked -= 1
    await api.request("GET", "/version")
    await api.close()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no such file"),
        ("{", "config: "),
        ("[]", "config: "),
        ("contexts: []\nclusters: []\ncurrent-context: x", "name x in"),
    ],
)
async def test_a_kubeconfig_that_is_none_is_told_with_its_path(tmp_path: Path, content: str | None, told: str) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ApiError) as found:
        await ask(Connection(path))
    assert str(path) in found.value.message
    assert told in found.value.message


async def test_a_pod_without_its_files_is_told(tmp_path: Path) -> None:
    options = Connection(token=tmp_path / "token", authority=tmp_path / "ca.crt")
    with pytest.raises(ApiError) as found:
        await ask(options, KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT="1")
    assert found.value.message == f"{tmp_path}: Service token file does not exist."


async def test_a_server_that_is_busy_is_asked_again_when_it_says(server: Server, tmp_path: Path) -> None:
    options = Connection(kubeconfig(tmp_path / "config", server.url, token="one"), "good")
    server.answers += [web.Response(status=status, headers={"Retry-After": "0"}) for status in (429, 503, 429)]
    await ask(options)
    assert len(server.asked) == 4
    server.answers.append(web.Response(status=429, headers={"Retry-After": "60"}))
    with pytest.raises(ApiError) as found:
        await ask(options)
    assert (found.value.status, found.value.retry_after) == (429, 60)


async def test_a_redirect_is_an_error(server: Server, tmp_path: Path) -> None:
    server.answers.append(web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}))
    with pytest.raises(ApiError) as found:
        await ask(Connection(kubeconfig(tmp_path / "config", server.url, token="one"), "good"))
    assert found.value.status == 302

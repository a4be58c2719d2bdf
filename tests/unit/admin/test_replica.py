"""`/v1/replica`, and who asks it: what one replica tells another one knows, and silence of every sort is told as such."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer

from tests.support.certificates import Authority
from tests.unit.admin.client import Client
from tests.unit.admin.world import FakeNode, World
from xds_server.admin import create_app, peers as module
from xds_server.admin.peers import Access, Peers
from xds_server.admin.rights import rights_of
from xds_server.credentials.tls import read_client, read_tls
from xds_server.credentials.watched import Credentials
from xds_server.demo.polling import until
from xds_server.settings.admin import Tokens
from xds_server.settings.base import Tls
from xds_server.status.replicas import Replicas

SLACK = 5.0


async def test_what_is_told(client: Client, world: World) -> None:
    answer = await client.get("/v1/replica")
    assert {key: answer[key] for key in ("replica", "whole", "leader", "leaving")} == {
        "replica": "pod-0",
        "whole": True,
        "leader": False,
        "leaving": False,
    }
    groups = {each["group"]: each for each in answer["groups"]}
    assert groups["default"]["version"] == world.second.version
    assert groups["default"]["connected"] == 3
    query = f"?instance={answer['instance']}&after={answer['seq']}&wait=0"
    again = await client.get(f"/v1/replica{query}")
    assert (again["groups"], again["whole"], again["seq"]) == ([], False, answer["seq"])
    await client.problem("/v1/replica?wait=61", 400)
    await client.problem("/v1/replica?after=-1", 400)


class Followed:
    """Somebody who asks at one address."""

    def __init__(self, url: str, access: Access) -> None:
        self.url = url
        self.replicas = Replicas("somebody")
        self.peers = Peers(self.replicas, access)
        self.peers.expect({url: "there"})

    async def heard(self) -> None:
        async def probe() -> bool:
            return not self.replicas.unheard

        await until(probe, within=SLACK, what="heard", interval=0.01)

    async def silent(self, why: str) -> None:
        async def probe() -> bool:
            return any(why in problem for _, problem in self.replicas.unheard)

        await until(probe, within=SLACK, what=why, interval=0.01)


@asynccontextmanager
async def followed(
    url: str, token: str = "", trust: ssl.SSLContext | None = None, server_name: str | None = None
) -> AsyncIterator[Followed]:
    made = Followed(url, Access(lambda: token, lambda: trust, server_name))
    asking = asyncio.create_task(made.peers.run())
    try:
        yield made
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


def url_of(server: BaseTestServer) -> str:
    return str(server.make_url("")).rstrip("/")


async def test_what_one_tells_the_other_knows(world: World) -> None:
    async with TestServer(create_app(world.deps())) as server, followed(url_of(server)) as other:
        await other.heard()
        found = other.replicas.elsewhere("default", world.second.version)
        assert (found.replicas, found.connected) == (1, 3)
        assert other.replicas.names == ["pod-0"]
        world.tracker.joined(FakeNode("n9"))

        async def probe() -> bool:
            return other.replicas.elsewhere("default", world.second.version).connected == 4

        await until(probe, within=SLACK, what="one more node", interval=0.01)


async def test_who_breaks_off_is_silent_and_heard_again_when_it_is_back(world: World) -> None:
    server = TestServer(create_app(world.deps()))
    await server.start_server()
    port = server.port
    async with followed(url_of(server)) as other:
        await other.heard()
        await server.close()
        await other.silent("it can't be reached")
        async with TestServer(create_app(world.deps()), port=port):
            await other.heard()


async def test_the_token_is_that_of_a_reader(world: World, tmp_path: Path) -> None:
    file = tmp_path / "reader"
    file.write_text("secret-1")
    rights = rights_of(Tokens(reader=file), Credentials())
    async with TestServer(create_app(world.deps(), rights=rights)) as server:
        async with followed(url_of(server), "secret-2") as other:
            await other.silent("it answers 401")
        async with followed(url_of(server), "secret-1") as other:
            await other.heard()


async def test_over_tls_the_name_in_the_certificate_counts(world: World, tmp_path: Path) -> None:
    authority = Authority()
    authority.issue("tidegate").write(tmp_path)
    (tmp_path / "ca.crt").write_text(authority.certificate)
    tls = read_tls(Tls(cert=tmp_path / "tls.crt", key=tmp_path / "tls.key"))
    trust = read_client(tmp_path / "ca.crt")
    server = TestServer(create_app(world.deps()), scheme="https")
    await server.start_server(ssl=tls.context)
    try:
        async with followed(url_of(server), trust=trust, server_name="tidegate") as other:
            await other.heard()
        for distrust in ({"trust": trust}, {"trust": trust, "server_name": "another"}, {"server_name": "tidegate"}):
            async with followed(url_of(server), **distrust) as other:
                await other.silent("its certificate is not believed")
    finally:
        await server.close()


async def test_where_certificates_of_clients_are_asked_for_one_is_shown(world: World, tmp_path: Path) -> None:
    authority = Authority()
    authority.issue("tidegate").write(tmp_path)
    (tmp_path / "ca.crt").write_text(authority.certificate)
    ca, cert, key = (tmp_path / name for name in ("ca.crt", "tls.crt", "tls.key"))
    server = TestServer(create_app(world.deps()), scheme="https")
    await server.start_server(ssl=read_tls(Tls(cert=cert, key=key, client_ca=ca)).context)
    try:
        async with followed(url_of(server), trust=read_client(ca, (cert, key)), server_name="tidegate") as other:
            await other.heard()
        async with followed(url_of(server), trust=read_client(ca), server_name="tidegate") as other:
            await other.silent("it can't be reached")
    finally:
        await server.close()
    with pytest.raises(ValueError, match="no certificate chain with its private key"):
        read_client(ca, (cert, ca))


async def nonsense(_request: web.Request) -> web.Response:
    return web.Response(body=json.dumps({"replica": "x"}), content_type="application/json")


async def silence(_request: web.Request) -> web.Response:
    await asyncio.sleep(60)
    return web.Response()


async def elsewhere(_request: web.Request) -> web.Response:
    raise web.HTTPFound("http://192.0.2.1/")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (nonsense, "it answers something else than a replica does"),
        (silence, "it does not answer"),
        (elsewhere, "it answers 302"),
    ],
)
async def test_who_answers_otherwise_is_silent(
    answer: Callable[[web.Request], Awaitable[web.Response]], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    monkeypatch.setattr(module, "WAIT", 0)
    app = web.Application()
    app.router.add_get("/v1/replica", answer)
    async with TestServer(app) as server, followed(url_of(server)) as other:
        await other.silent(why)


async def test_who_finds_itself_asks_no_more(world: World) -> None:
    async with TestServer(create_app(world.deps())) as server:
        ours = Replicas(world.bulletin.instance)
        peers = Peers(ours, Access(lambda: "", lambda: None))
        peers.expect({url_of(server): "there"})
        asking = asyncio.create_task(peers.run())

        async def probe() -> bool:
            return not ours.unheard

        await until(probe, within=SLACK, what="itself", interval=0.01)
        assert ours.names == []
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

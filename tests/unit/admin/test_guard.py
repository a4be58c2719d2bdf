"""Browsers of strangers, slow clients, large bodies; and TLS whose certificate is exchanged."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.support.certificates import Authority, serial_of
from tests.unit.admin.client import Client, problem_of
from tests.unit.admin.world import World
from xds_server.admin import AdminServer, guard, malformed
from xds_server.credentials.tls import watch_tls
from xds_server.credentials.watched import Credentials
from xds_server.settings import Address
from xds_server.settings.base import Tls

ROLLBACK = "/v1/groups/default/rollback"
BODY = {"to": "1", "reason": "test"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://127.0.0.1@evil.example"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_k103_a_write_for_a_page_of_strangers_is_refused(client: Client, headers: dict[str, str]) -> None:
    async with client.http.post(ROLLBACK, json=BODY, headers=headers) as response:
        await problem_of(response, 403)


async def test_a_write_from_our_own_page_is_taken(client: Client) -> None:
    own = f"http://{client.http.host}:{client.http.port}"
    headers = {"Origin": own, "Sec-Fetch-Site": "same-origin"}
    async with client.http.post(ROLLBACK, json=BODY, headers=headers) as response:
        assert response.status == 200


@pytest.mark.parametrize("path", ["/", "/v1/groups", "/nowhere", "/metrics", "/v1/events"])
async def test_every_answer_has_the_headers_for_browsers(client: Client, path: str) -> None:
    async with client.http.get(path) as response:
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in response.headers


@pytest.fixture
async def quick(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, int]]:
    """A server that waits for half a second only."""
    monkeypatch.setattr(guard, "BODY_WITHIN", 0.5)
    monkeypatch.setattr(malformed, "IDLE_WITHIN", 0.5)
    server = AdminServer(world.deps())
    host, _, port = (await server.start(Address("127.0.0.1:0"))).rpartition(":")
    yield host, int(port)
    await server.stop()


async def _answer(place: tuple[str, int], said: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*place)
    try:
        writer.write(said)
        async with asyncio.timeout(15):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("said", [b"", b"GET /v1/gro", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX"])
async def test_a_client_that_does_not_finish_its_headers_is_dropped(quick: tuple[str, int], said: bytes) -> None:
    assert await _answer(quick, said) == b""


async def test_a_connection_is_dropped_when_no_further_request_comes(quick: tuple[str, int]) -> None:
    assert (await _answer(quick, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /he")).count(b"HTTP/1.1 ") == 1


async def test_a_body_that_does_not_come_is_a_problem(quick: tuple[str, int]) -> None:
    head = f"POST {ROLLBACK} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\nConnection: close\r\n\r\n{{"
    assert b"408" in (await _answer(quick, head.encode())).splitlines()[0]


async def test_only_listed_names_when_hosts_are_set(world: World) -> None:
    server = AdminServer(world.deps(), hosts=("tidegate.example",))
    address = Address(await server.start(Address("0.0.0.0:0")))
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{address.port}") as http:
            for host, status in (("tidegate.example:80", 200), ("TIDEGATE.example", 200), ("evil.example", 421)):
                async with http.get("/healthz", headers={"Host": host}) as response:
                    assert response.status == status, host
    finally:
        await server.stop()


async def test_a_browser_on_this_machine_is_guarded_on_any_address(world: World) -> None:
    server = AdminServer(world.deps())
    address = Address(await server.start(Address("0.0.0.0:0")))
    try:
        async with (
            aiohttp.ClientSession(f"http://127.0.0.1:{address.port}") as http,
            http.post(ROLLBACK, json=BODY, headers={"Host": "evil.example"}) as response,
        ):
            await problem_of(response, 421)
    finally:
        await server.stop()


async def test_tls_with_a_certificate_that_is_exchanged(world: World, tmp_path: Path) -> None:
    authority, credentials = Authority(), Credentials()
    first, second = authority.issue("tidegate"), authority.issue("tidegate")
    first.write(tmp_path)
    files = Tls(cert=tmp_path / "tls.crt", key=tmp_path / "tls.key")
    server = AdminServer(world.deps(), tls=watch_tls(credentials, "admin.tls", files))
    host, _, port = (await server.start(Address("127.0.0.1:0"))).rpartition(":")
    try:
        assert await _serial(host, int(port), authority) == first.serial
        second.write(tmp_path)
        credentials._check()
        for name in (None, "tidegate"):
            assert await _serial(host, int(port), authority, name) == second.serial
        async with (
            aiohttp.ClientSession() as http,
            http.get(f"https://{host}:{port}/healthz", ssl=authority.client_context()) as response,
        ):
            assert response.status == 200
    finally:
        await server.stop()


async def test_tls_that_asks_for_client_certificates(world: World, tmp_path: Path) -> None:
    authority = Authority()
    authority.issue("tidegate").write(tmp_path)
    (tmp_path / "ca.crt").write_text(authority.certificate)
    files = Tls(cert=tmp_path / "tls.crt", key=tmp_path / "tls.key", client_ca=tmp_path / "ca.crt")
    server = AdminServer(world.deps(), tls=watch_tls(Credentials(), "admin.tls", files))
    address = await server.start(Address("127.0.0.1:0"))
    try:
        context = authority.client_context()
        async with aiohttp.ClientSession() as http:
            with pytest.raises(aiohttp.ClientError):
                await http.get(f"https://{address}/healthz", ssl=context)
            context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
            async with http.get(f"https://{address}/healthz", ssl=context) as response:
                assert response.status == 200
    finally:
        await server.stop()


async def _serial(host: str, port: int, authority: Authority, name: str | None = None) -> int:
    context = authority.client_context()
    _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=name or "")
    try:
        shown: ssl.SSLObject = writer.get_extra_info("ssl_object")
        return serial_of(shown.getpeercert(binary_form=True) or b"")
    finally:
        writer.close()
        await writer.wait_closed()

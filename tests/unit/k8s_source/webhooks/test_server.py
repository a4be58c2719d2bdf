"""The webhook's server over real TLS: reviews, health, metrics, a certificate that changes, and an orderly end."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from k8s_source.client.errors import ApiError
from k8s_source.webhooks import server as served
from k8s_source.webhooks.authority import Issued, Pair, issue
from k8s_source.webhooks.files import CertificateFiles
from k8s_source.webhooks.server import WebhookServer
from k8s_source.webhooks.service import WebhookService, kept_in_files
from tests.unit.k8s_source.manifests import gateway, watching

LIFE = timedelta(days=1)


def issued() -> Issued:
    return issue(("127.0.0.1",), datetime.now(UTC), LIFE)


class Meter:
    """Counts."""

    def __init__(self) -> None:
        self.counted: list[tuple[str, str]] = []

    def webhook_answered(self, path: str, code: str, took: float) -> None:
        assert took >= 0
        self.counted.append((path, code))

    async def render(self, accept: str) -> tuple[bytes, str]:
        return f"{len(self.counted)} {accept}".encode(), "text/plain; version=0.0.4"


class Rig:
    """A server, and a client that trusts an authority."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.server = WebhookServer(self.meter)
        self.authority = b""
        self.address = ""

    def use(self, made: Issued) -> None:
        self.server.use(made.pair)
        self.authority = made.authority

    async def ask(self, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """The answer on a new connection; a name is checked as Go does."""
        trusted = ssl.create_default_context(cadata=self.authority.decode())
        method = "GET" if body is None else "POST"
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session,
            session.request(method, f"https://{self.address}{path}", data=body) as answer,
        ):
            return answer.status, await answer.read()


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    made = Rig()
    made.use(issued())
    made.address = await made.server.start("127.0.0.1", 0)
    yield made
    await made.server.stop()


def review(*objects: Any) -> bytes:
    request = {"uid": "u", "desiredAPIVersion": "gateway.tidegate.dev/v1beta1", "objects": objects}
    return json.dumps(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    ).encode()


async def test_reviews_are_answered_and_counted(rig: Rig) -> None:
    status, body = await rig.ask("/convert", review(gateway(watching())))
    (converted,) = json.loads(body)["response"]["convertedObjects"]
    assert (status, converted["spec"]["routes"][0]["lag"]["threshold"]) == (200, 100)
    assert (await rig.ask("/convert", b"{"))[0] == 400
    status, body = await rig.ask("/validate", b"{}")
    assert status == 400
    assert b"expected one AdmissionReview of admission.k8s.io/v1" in body
    assert (await rig.ask("/elsewhere", b""))[0] == 404
    assert (await rig.ask("/convert"))[0] == 405
    assert rig.meter.counted == [("/convert", "200"), ("/convert", "400"), ("/validate", "400"), ("/convert", "405")]
    assert await rig.ask("/metrics") == (200, b"4 */*")


async def test_health_and_readiness_are_two_things(rig: Rig) -> None:
    assert await rig.ask("/healthz") == (200, b"ok\n")
    assert await rig.ask("/readyz") == (503, b"not ready\n")
    rig.server.is_ready = True
    assert (await rig.ask("/readyz"))[0] == 200


async def test_a_request_beyond_the_limit(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "MOST_BYTES", 1000)
    small = Rig()
    small.use(issued())
    small.address = await small.server.start("127.0.0.1", 0)
    try:
        assert (await small.ask("/convert", b" " * 1001))[0] == 413
        assert small.meter.counted == [("/convert", "413")]
    finally:
        await small.server.stop()


async def test_new_connections_get_the_new_certificate(rig: Rig) -> None:
    first = rig.authority
    rig.use(issued())
    assert (await rig.ask("/healthz"))[0] == 200
    rig.authority = first
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await rig.ask("/healthz")


async def test_no_pair_is_no_server(rig: Rig) -> None:
    one, other = issued().pair, issued().pair
    with pytest.raises(ValueError, match="expected a certificate chain in PEM with its private key"):
        rig.server.use(Pair(one.certificate, other.key))
    assert (await rig.ask("/healthz"))[0] == 200


async def test_a_request_under_way_is_answered_when_the_server_stops(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(_: bytes) -> tuple[bytes, str]:
        begun.set()
        assert go_on.wait(10)
        return b"{}", "converted"

    monkeypatch.setitem(served._BODIES, "/convert", slow)
    asked = asyncio.create_task(rig.ask("/convert", review()))
    await asyncio.to_thread(begun.wait, 10)
    rig.server.is_ready = True
    stopped = asyncio.create_task(rig.server.stop())
    await asyncio.sleep(0.1)
    assert not rig.server.is_ready
    assert not stopped.done()
    with pytest.raises(aiohttp.ClientConnectorError):
        await rig.ask("/healthz")
    go_on.set()
    assert await asked == (200, b"{}")
    await stopped


async def test_files_are_read_anew_and_what_is_broken_changes_nothing(rig: Rig, tmp_path: Path) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    service = WebhookService(rig.server, kept_in_files(CertificateFiles(certificate, key)), None, 0.02)
    running = asyncio.create_task(service.run())
    try:
        await asyncio.sleep(0.1)
        assert (await rig.ask("/readyz"))[0] == 503
        made = issued()
        certificate.write_bytes(made.pair.certificate)
        key.write_bytes(made.pair.key)
        await until(lambda: rig.server.is_ready)
        rig.authority = made.authority
        assert (await rig.ask("/readyz"))[0] == 200
        assert service.expires is not None
        key.write_bytes(issued().pair.key)  # half of a change
        await asyncio.sleep(0.1)
        assert (await rig.ask("/readyz"))[0] == 200
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_an_api_server_that_is_away_is_asked_again(rig: Rig) -> None:
    made, failures = issued(), [ApiError(0, "Timeout", "no answer in time"), ApiError(503, "Unavailable", "away")]

    async def look() -> tuple[Pair, bytes]:
        if failures:
            raise failures.pop()
        return made.pair, made.authority

    running = asyncio.create_task(WebhookService(rig.server, look, None, 0.02).run())
    try:
        await until(lambda: rig.server.is_ready)
        assert not failures
    finally:
        running.cancel()
        await asyncio.wait([running])


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)

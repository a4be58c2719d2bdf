"""What is no valid HTTP is answered by a problem document, and does not fill the log."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from tests.unit.admin.world import World
from xds_server.admin import AdminServer
from xds_server.settings import Address

LONG = b"x" * 9000


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /v1/groups?" + LONG + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/groups HTTP/1.1\r\nHost: localhost\r\nX-Long: " + LONG + b"\r\n\r\n",
        b"GET /v1/groups HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"GET /v1/groups HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
    ],
)
async def test_malformed_requests(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    server = AdminServer(World().deps())
    host, port = (await server.start(Address("127.0.0.1:0"))).split(":")
    try:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(sent)
        async with asyncio.timeout(10):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    finally:
        await server.stop()
    assert head.startswith(b"HTTP/1.")
    assert b" 400 " in head.splitlines()[0]
    assert b"content-type: application/problem+json" in head.lower()
    document = json.loads(body)
    assert (document["status"], document["title"]) == (400, "Bad Request")
    assert document["detail"] in {
        "the request is no valid HTTP",
        "a line or a header of the request is too long",
    }
    assert caplog.records == []

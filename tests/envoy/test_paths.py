"""Which paths a request can have when Envoy looks for its route, as `k8s_source.kinds.paths` has it."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from k8s_source.kinds.gateway_fields import PathType, path_error
from k8s_source.kinds.paths import normalized
from tests.support.fleet import Fleet
from tests.support.gateway_fleet import declare, started
from xds_server.demo.manifests import backend, gateway, route

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

PRINTED = [chr(code) for code in range(0x21, 0x7F) if chr(code) not in "#?"]
PATHS = [
    *(f"/a{each}b" for each in PRINTED),
    *(f"/a%{code:02X}b" for code in range(1, 256)),
    *(f"/a%{code:02x}b" for code in range(1, 256)),
    *(
        "/a/./b",
        "/a/../b",
        "/a/..",
        "/a/.",
        "/..",
        "/a/%2e%2E/b",
        "/a/%2e/b",
        "/a/.../b",
        "/.a",
        "/a/..;x/b",
        "/a/.;x/b",
    ),
    *("//a", "/a//b", "/a//", "/a///../b", "/a//../b", "/a//./b", "/a\\..\\b", "/a;x/b", "/..a/b"),
    *("/a%", "/a%zz", "/a%4", "/%2541", "/a/%2f/b", "/%c3%bc", "/a b".replace(" ", "%20")),
]


async def test_paths_are_normalized_as_envoy_does(fleet: Fleet) -> None:
    async def echo(request: web.BaseRequest) -> web.Response:
        return web.Response(text=request.raw_path)

    plane, runner = fleet.tidegate(), web.ServerRunner(web.Server(echo, access_log=None), shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        declare(plane, *backend("echo", runner.addresses[0][1]), gateway(route("all", "/", backendService="echo")))
        base = await started(fleet, plane)
        host, _, port = base.removeprefix("http://").partition(":")
        for path in PATHS:
            status, reached = await _ask(host, int(port), path.encode())
            assert (status, reached) == (200, normalized(path)), path
            assert (path_error(PathType.EXACT, path) == "") is (reached == path), path
        for path in ("/ü", "/a%00b"):
            assert path_error(PathType.PREFIX, path)
            assert (await _ask(host, int(port), path.encode()))[0] == 400, path
    finally:
        await runner.cleanup()


async def _ask(host: str, port: int, path: bytes) -> tuple[int, str]:
    """The status and the body for a path that is sent as it is."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET " + path + b" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body.decode()

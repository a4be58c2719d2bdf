"""DynamicGateways from files to the answers of a real Envoy: what is matched, where it leads, and what is refused."""

from __future__ import annotations

import asyncio
import itertools
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import aiohttp
import grpc
import pytest
from aiohttp import web
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from tests.support.certificates import Authority, serial_of
from tests.support.fleet import SLACK, Fleet
from tests.support.gateway_fleet import declare, started, url_of
from tests.support.manifests import HTTP_NAME, tls_secret
from tests.support.watching import answers, ask
from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode
from xds_server.demo.manifests import Manifest, backend, endpoint_slice, gateway, route, service
from xds_server.demo.polling import until

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Answer = tuple[int, str, Mapping[str, str]]


async def get(url: str, **headers: str) -> Answer:
    """One request with these headers: status, body, headers."""
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return response.status, await response.text(), response.headers


async def test_paths_go_by_segments_and_the_longest_first(fleet: Fleet, backends: list[Backend]) -> None:
    plane, (blue, green) = fleet.tidegate(), backends
    declare(
        plane,
        *backend("blue", blue.port),
        *backend("green", green.port),
        gateway(
            route("all", "/", backendService="blue"),
            route("foo", "/foo/", backendService="green"),
            route("inner", "/foo/bar", backendService="blue"),
            route("expression", "/foo/bar/[0-9]+", pathType="Regex", backendService="green"),
            route("whole", "/foo/bar/7", pathType="Exact", backendService="blue"),
        ),
    )
    base = await started(fleet, plane)
    wanted = {
        "/": "blue",
        "/foo": "green",
        "/foo/": "green",
        "/foo?x=1": "green",
        "/foo/baz": "green",
        "/foobar": "blue",
        "/foo/bar": "blue",
        "/foo/bar/x": "blue",
        "/foo/bar/8": "green",
        "/foo/bar/8/x": "blue",
        "/foo/bar/7": "blue",
    }
    for path, name in wanted.items():
        assert await ask(base + path) == (200, name), path


async def test_k61_hosts_match_with_a_port_too(fleet: Fleet, backends: list[Backend]) -> None:
    plane, (blue, green) = fleet.tidegate(), backends
    declare(
        plane,
        *backend("blue", blue.port),
        *backend("green", green.port),
        gateway(
            route("own", hosts=["Example.com"], backendService="blue"),
            route("below", hosts=["*.example.com"], backendService="green"),
        ),
    )
    base = await started(fleet, plane)
    for host, name in (
        ("example.com", "blue"),
        ("example.com:8080", "blue"),
        ("EXAMPLE.com", "blue"),
        ("a.example.com", "green"),
        ("a.b.example.com:8080", "green"),
    ):
        assert (await get(base, host=host))[:2] == (200, name), host
    assert (await get(base, host="example.org"))[0] == 404


async def test_a_route_without_a_healthy_backend_is_rejected_alone(fleet: Fleet, backends: list[Backend]) -> None:
    plane = fleet.tidegate()
    world = [service("down"), gateway(route("blue"), route("down", "/down"), route("absent", "/absent"))]
    declare(plane, *backend("blue", backends[0].port), *world)
    base = await started(fleet, plane)
    for path in ("/down", "/absent"):
        status, body, headers = await get(base + path)
        assert (status, body, headers["x-tidegate-reason"]) == (503, "no-healthy-backend", "no-healthy-backend")
    assert await ask(base) == (200, "blue")
    declare(plane, endpoint_slice("down", port=backends[1].port), file="slice.yaml")
    await until(partial(answers, f"{base}/down", 200, "green"), within=5 * SLACK, what="the route is back")


async def test_k32_services_without_endpoints_do_not_hold_up_a_start(fleet: Fleet, backends: list[Backend]) -> None:
    plane = fleet.tidegate()
    declare(
        plane,
        *backend("blue", backends[0].port),
        *backend("green", backends[1].port),
        *backend("no-slice"),
        service("empty-slice"),
        endpoint_slice("empty-slice"),
        service("not-ready"),
        endpoint_slice("not-ready", port=backends[0].port, ready=False),
        gateway(*(route(name, f"/{name}") for name in ("blue", "green", "no-slice", "empty-slice", "not-ready"))),
    )
    await plane.start()
    begun = time.monotonic()
    envoy = await fleet.envoy(Mode.SOTW, plane.xds)
    base = f"http://{await envoy.listener(HTTP_NAME)}"
    await until(partial(answers, f"{base}/blue", 200, "blue"), within=20, what="the first 200", interval=0.02)
    assert time.monotonic() - begun < 2 * SLACK
    assert await ask(f"{base}/green") == (200, "green")
    for name in ("no-slice", "empty-slice", "not-ready"):
        assert await ask(f"{base}/{name}") == (503, "no-healthy-backend")


async def test_https_by_sni(fleet: Fleet, backends: list[Backend]) -> None:
    authority, plane = Authority(), fleet.tidegate()
    one, two = authority.issue("one.test"), authority.issue("two.test")
    listeners = [_https(name) for name in ("one", "two")]
    port = {"port": _free_port()}
    declare(
        plane,
        *backend("blue", backends[0].port),
        *backend("green", backends[1].port),
        tls_secret("one", one),
        tls_secret("two", two),
        gateway(route("blue", hosts=["one.test"]), name="first", listeners=[listeners[0] | port]),
        gateway(route("green", hosts=["two.test", "*"]), name="second", listeners=[listeners[1] | port]),
    )
    await plane.start()
    envoy = await fleet.envoy(Mode.DELTA, plane.xds)
    await url_of(envoy, f"https-127.0.0.1-{port['port']}")
    for name, wanted, serial in (("one.test", "blue", one.serial), ("two.test", "green", two.serial)):
        assert await _over_tls(authority, port["port"], name) == (wanted, serial, "h2")
    assert (await _over_tls(authority, port["port"], "else.test"))[1:] == (two.serial, "h2")


async def test_a_listener_comes_to_speak_https_on_its_port(fleet: Fleet, backends: list[Backend]) -> None:
    authority, plane = Authority(), fleet.tidegate()
    world = [*backend("blue", backends[0].port), tls_secret("one", authority.issue("one.test"))]
    plain = {"name": "web", "port": _free_port(), "address": "127.0.0.1"}
    declare(plane, *world, gateway(route("blue"), listeners=[plain]))
    await plane.start()
    envoy = await fleet.envoy(Mode.SOTW, plane.xds)
    assert await ask(await url_of(envoy, f"http-127.0.0.1-{plain['port']}")) == (200, "blue")
    before = await plane.sequence()
    declare(plane, *world, gateway(route("blue"), listeners=[plain | _https("one")]))
    await plane.programmed(after=before)
    await url_of(envoy, f"https-127.0.0.1-{plain['port']}")
    assert (await _over_tls(authority, int(str(plain["port"])), "one.test"))[0] == "blue"


async def test_requests_are_limited_retried_and_cut_off(fleet: Fleet, backends: list[Backend]) -> None:
    plane = fleet.tidegate()
    async with _serving(_moody()) as moody, _serving(_slow) as slow:
        declare(
            plane,
            *backend("blue", backends[0].port),
            *backend("half", backends[0].port, _free_port()),
            *backend("moody", moody),
            *backend("slow", slow),
            gateway(
                route("limited", "/limited", backendService="blue", maxQps=1),
                route("again", "/again", backendService="half", retries=3),
                route("once", "/once", backendService="half"),
                route("moody", "/moody", retries=1),
                route("slow", "/slow", timeout="200ms"),
                route("patient", "/patient", backendService="slow"),
            ),
        )
        base = await started(fleet, plane)
        assert {(await ask(f"{base}/again"))[0] for _ in range(20)} == {200}
        assert {(await ask(f"{base}/once"))[0] for _ in range(20)} == {200, 503}
        assert await ask(f"{base}/moody") == (200, "better")
        assert (await ask(f"{base}/slow"))[0] == 504
        assert await ask(f"{base}/patient") == (200, "at last")
        limited = [await get(f"{base}/limited") for _ in range(5)]
        assert {status for status, _, _ in limited} == {200, 429}
        assert limited[-1][2]["x-tidegate-reason"] == "max-qps"


async def test_grpc_and_websockets_go_through(fleet: Fleet) -> None:
    plane, server = fleet.tidegate(), grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
    number = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with _serving(_echo) as echo:
        declare(
            plane,
            *backend("grpc", number, appProtocol="kubernetes.io/h2c"),
            *backend("echo", echo),
            gateway(route("grpc", "/grpc.health.v1.Health"), route("echo", "/echo")),
        )
        base = await started(fleet, plane)
        async with grpc.aio.insecure_channel(base.removeprefix("http://")) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            answer = await stub.Check(health_pb2.HealthCheckRequest())
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{base}/echo") as socket:
            await socket.send_str("hello")
            assert await socket.receive_str() == "hello"
    await server.stop(None)


def _https(secret: str) -> Manifest:
    return {"name": "https", "protocol": "HTTPS", "address": "127.0.0.1", "tls": {"secretName": secret}}


def _free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


async def _over_tls(authority: Authority, port: int, name: str) -> tuple[str, int, str | None]:
    """Who answers for a host, which certificate it shows, and what is spoken."""
    context = authority.client_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    shown = writer.get_extra_info("ssl_object")
    serial, spoken = serial_of(shown.getpeercert(binary_form=True)), shown.selected_alpn_protocol()
    writer.close()
    url, plain = f"https://127.0.0.1:{port}/", authority.client_context()
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, ssl=plain, server_hostname=name, headers={"host": name}) as response,
    ):
        return await response.text(), serial, spoken


@asynccontextmanager
async def _serving(handle: Handler) -> AsyncIterator[int]:
    """Serves HTTP with a handler; the port."""
    runner = web.ServerRunner(web.Server(handle, access_log=None), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield int(runner.addresses[0][1])
    await runner.cleanup()


def _moody() -> Handler:
    """Answers 503 at the first request, and well at the next."""
    asked = itertools.count()

    async def handle(_: web.BaseRequest) -> web.Response:
        return web.Response(text="better") if next(asked) else web.Response(status=503)

    return handle


async def _slow(_: web.BaseRequest) -> web.Response:
    await asyncio.sleep(0.6)
    return web.Response(text="at last")


async def _echo(request: web.BaseRequest) -> web.WebSocketResponse:
    """Sends back what it is sent."""
    answer = web.WebSocketResponse()
    await answer.prepare(request)
    async for message in answer:
        await answer.send_str(message.data)
    return answer

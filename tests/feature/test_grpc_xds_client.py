"""gRPC's own xDS client (`xds:///`) calls a gRPC backend through configuration from files, and follows its moves."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from tests.conformance.documents import World
from tests.conformance.server import Server
from tests.feature import xds_caller
from xds_server.demo.processes import Child
from xds_server.demo.world import Document, cluster, routes

_MANAGER = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
_ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
_ADS = {"ads": {}, "resource_api_version": "V3"}

MOVES = 6


@asynccontextmanager
async def backend(name: str) -> AsyncIterator[int]:
    """A gRPC server that answers with its name; its port."""

    async def who(_request: bytes, _context: Any) -> bytes:
        return name.encode()

    server = grpc.aio.server()
    service, method = xds_caller.METHOD.lstrip("/").split("/")
    handlers: dict[str, Any] = {method: grpc.unary_unary_rpc_method_handler(who)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)


def _service(name: str, port: int) -> list[Document]:
    """A cluster and its endpoints as gRPC wants them: localities have names and weights."""
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    locality = {
        "locality": {"region": "here", "zone": "here"},
        "load_balancing_weight": 1,
        "lb_endpoints": [{"endpoint": {"address": address}, "load_balancing_weight": 1}],
    }
    endpoints = {
        "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": name,
        "endpoints": [locality],
    }
    return [cluster(name, lb_policy="ROUND_ROBIN"), endpoints]


def _routes(to: str) -> Document:
    return routes("echo-routes", [{"match": {"prefix": ""}, "route": {"cluster": to}}])


def _listener(to: str | None) -> Document:
    """An API listener: with its routes inside, or with routes by RDS when `to` is None."""
    manager: Document = {"@type": _MANAGER, "http_filters": [{"name": "router", "typed_config": {"@type": _ROUTER}}]}
    if to is None:
        manager["rds"] = {"route_config_name": "echo-routes", "config_source": _ADS}
    else:
        manager["route_config"] = {key: value for key, value in _routes(to).items() if key != "@type"}
    return {
        "@type": "type.googleapis.com/envoy.config.listener.v3.Listener",
        "name": "echo",
        "api_listener": {"api_listener": manager},
    }


def _world(form: str, name: str, port: int) -> list[Document]:
    """Everything for one backend; the route configuration is a resource of its own when `form` is `rds`."""
    tail = [_listener(name)] if form == "inline" else [_listener(None), _routes(name)]
    return [*_service(name, port), *tail]


class Caller:
    """The calling program, and what it has printed."""

    def __init__(self, child: Child, log: Path) -> None:
        self._child = child
        self._log = log

    @classmethod
    async def start(cls, folder: Path, server: Server, world: World) -> Caller:
        """Start it as a node in the group of `world`."""
        node = {"id": f"grpc-{world.group}", "metadata": {"tidegate.dev/group": world.group}}
        control_plane = {
            "server_uri": server.xds,
            "channel_creds": [{"type": "insecure"}],
            "server_features": ["xds_v3"],
        }
        bootstrap = json.dumps({"xds_servers": [control_plane], "node": node})
        command = [sys.executable, xds_caller.__file__, "xds:///echo", "0.01"]
        environment = {"GRPC_XDS_BOOTSTRAP_CONFIG": bootstrap, "GRPC_VERBOSITY": "ERROR"}
        log = folder / "caller.log"
        return cls(await Child.spawn("caller", command, log=log, environment=environment), log)

    async def stop(self) -> None:
        """Kill it."""
        await self._child.kill()

    def answers(self) -> list[str]:
        """All lines so far."""
        return self._log.read_text().splitlines()

    async def answered_by(self, name: str, *, within: float) -> None:
        """Wait until the last five answers came from one backend."""
        async with asyncio.timeout(within):
            while self.answers()[-5:] != [name] * 5:  # noqa: ASYNC110 - a file can only be asked
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("form", ["inline", "rds"])
async def test_grpc_follows_a_route_to_another_backend(server: Server, world: World, tmp_path: Path, form: str) -> None:
    async with AsyncExitStack() as stack:
        ports = {name: await stack.enter_async_context(backend(name)) for name in ("blue", "green")}
        world.write("world", *_world(form, "blue", ports["blue"]))
        await server.served(world)
        caller = await Caller.start(tmp_path, server, world)
        stack.push_async_callback(caller.stop)
        await caller.answered_by("blue", within=20)
        for number in range(1, MOVES + 1):
            name = ("blue", "green")[number % 2]
            world.write("world", *_world(form, name, ports[name]))
            await caller.answered_by(name, within=5)
        answers = caller.answers()
        failed = [each for each in answers if each not in ports]
        assert not failed, failed[:5]
        assert await server.left_out(world) == {}

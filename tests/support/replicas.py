"""Several Tidegates that serve the same files and know of each other, and fake Envoys spread over them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
from envoy.config.core.v3 import base_pb2

from tests.conformance.client import SLACK, Answer, Stream, accept, connect
from tests.conformance.wire import Received, Variant
from tests.support.kube import kept_ports
from xds_server.demo.control_plane import ControlPlane, Json
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import write_documents

ROUTES = "http-8080"
GATEWAY = ("shop", "edge")


def gateway(**route: Any) -> Json:
    """A gateway with one route, of which `route` has further fields."""
    return {
        "apiVersion": "gateway.tidegate.dev/v1alpha1",
        "kind": "DynamicGateway",
        "metadata": {"name": "edge", "namespace": "shop", "generation": 1},
        "spec": {"routes": [{"name": "orders", "path": "/orders", "backendService": "orders", **route}]},
    }


BACKEND: Sequence[Json] = (
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "orders", "namespace": "shop"},
        "spec": {"ports": [{"port": 80}]},
    },
    {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "orders-1", "namespace": "shop", "labels": {"kubernetes.io/service-name": "orders"}},
        "addressType": "IPv4",
        "ports": [{"port": 8080}],
        "endpoints": [{"addresses": ["192.0.2.1"]}],
    },
)


class FakeEnvoy:
    """One node; it asks for what Envoy asks for, on whichever replica it is connected to, one at a time."""

    _numbers = count(1)

    def __init__(self) -> None:
        number = next(self._numbers)
        self.id = f"envoy-{number}"
        self.variant = Variant.DELTA if number % 2 else Variant.SOTW
        self.answer: Answer = accept
        self.stream: Stream | None = None
        self._stack = AsyncExitStack()

    async def connect(self, target: str) -> None:
        """Leave where it is, and connect there; it comes back with nothing, as one that was started anew."""
        await self.leave()
        node = base_pb2.Node(id=self.id, user_agent_name="envoy")
        channel = await self._stack.enter_async_context(connect(target))
        stream = Stream(channel, self.variant, node, answer=self._answer)
        self.stream = await self._stack.enter_async_context(stream)
        self.stream.ask("cds")
        self.stream.ask("lds")
        self.stream.ask("eds", "shop/orders:80")
        self.stream.ask("rds", ROUTES)

    def _answer(self, stream: Stream, response: Received) -> None:
        self.answer(stream, response)

    async def leave(self) -> None:
        """End its stream."""
        self.stream = None
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()


@dataclass(frozen=True)
class Sample:
    """What one replica said of the gateway at some time."""

    at: float
    replica: int
    status: str
    reason: str
    message: str
    acked: str

    @property
    def version(self) -> str:
        """The version that the message speaks of, as far as it tells one."""
        found = re.search(r"version ([0-9a-f]{8})", self.message)
        return found[1] if found else ""


class Crowd:
    """The replicas and what they said, sampled all the time."""

    def __init__(self, planes: Iterable[ControlPlane], files: Path) -> None:
        self.planes = list(planes)
        self.files = files
        self.samples: list[Sample] = []

    def declare(self, **route: Any) -> None:
        """Write the gateway."""
        write_documents(self.files / "gateway.yaml", [gateway(**route)])

    async def version(self, replica: int = 0) -> str:
        """What the group is served at one of them."""
        return str((await self.planes[replica].group())["version"])

    async def condition(self, replica: int) -> Json:
        """The condition Programmed as one of them tells it."""
        status = (await self.planes[replica].gateway(*GATEWAY)).get("status", {})
        return next((each for each in status.get("conditions", []) if each["type"] == "Programmed"), {})

    async def says(self, replica: int, status: str, message: str, *, within: float = 5.0) -> Json:
        """Wait until one of them tells this status, with this in its message."""

        async def probe() -> Json | None:
            found = await self.condition(replica)
            return found if found.get("status") == status and message in found["message"] else None

        return await until(probe, within=within * SLACK, what=f"replica {replica}: {status} {message}")

    async def sample(self) -> None:
        """Ask all of them again and again, until cancelled."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
            while True:
                for number, plane in enumerate(tuple(self.planes)):
                    with suppress(aiohttp.ClientError, TimeoutError, KeyError, IndexError):
                        await self._ask(session, number, plane)
                await asyncio.sleep(0.02)

    async def _ask(self, session: aiohttp.ClientSession, number: int, plane: ControlPlane) -> None:
        at = time.monotonic()
        async with session.get(f"{plane.admin}/v1/gateways/{'/'.join(GATEWAY)}") as response:
            status = (await response.json())["gateways"][0]["status"]
        found = next(each for each in status["conditions"] if each["type"] == "Programmed")
        told = (found["status"], found["reason"], found["message"], status["lastAckedVersion"] or "")
        self.samples.append(Sample(at, number, *told))

    def told(self, holds: Callable[[Sample], bool]) -> list[Sample]:
        """The samples of which that is true."""
        return [each for each in self.samples if holds(each)]


@asynccontextmanager
async def crowd(
    folder: Path, number: int, own: Callable[[int], Mapping[str, Any]] = lambda _index: {}
) -> AsyncIterator[Crowd]:
    """So many replicas, started, that know of each other by a list of URLs; `own` has further settings of each."""
    ports, files = kept_ports(number), folder / "files"
    files.mkdir()
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    planes = []
    for index, port in enumerate(ports):
        settings = {
            "sources": [{"kind": "files", "path": str(files), "watch": True}],
            "replicas": {"name": f"replica-{index}", "urls": urls},
            **own(index),
        }
        planes.append(ControlPlane(folder / f"replica-{index}", admin_port=port, settings=settings))
    write_documents(files / "backend.yaml", list(BACKEND))
    made = Crowd(planes, files)
    made.declare()
    sampling = asyncio.create_task(made.sample())
    try:
        await asyncio.gather(*(plane.start() for plane in planes))
        yield made
    finally:
        sampling.cancel()
        await asyncio.gather(*(plane.stop() for plane in planes), sampling, return_exceptions=True)

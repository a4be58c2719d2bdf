"""One driver for two control planes: publish documents and wait until they are (as far as one can tell) applied."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Protocol

from tests.support.naive import NaiveServer
from xds_server.demo.backends import Backend
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.world import Document, assignment, cluster, listener, route, routes
from xds_server.demo.yaml_files import write_documents

LISTENER, ROUTES = "edge", "edge-routes"


class Publisher(Protocol):
    """Takes a whole configuration."""

    async def publish(self, documents: Sequence[Document]) -> None:
        """Replace everything by `documents`; return when they are applied."""


class FilePublisher:
    """Writes `world.yaml` for a Tidegate, and waits until `nodes` Envoys have accepted it."""

    def __init__(self, plane: ControlPlane, nodes: int, *, wait: bool = True) -> None:
        self._plane = plane
        self._nodes = nodes
        self._wait = wait

    async def publish(self, documents: Sequence[Document]) -> None:
        before = await self._plane.sequence() if self._wait else 0
        write_documents(self._plane.files / "world.yaml", documents)
        if self._wait:
            await self._plane.programmed(after=before, nodes=self._nodes)


class NaivePublisher:
    """Hands documents to the naive server, which returns when it has sent them."""

    def __init__(self, server: NaiveServer) -> None:
        self._server = server

    async def publish(self, documents: Sequence[Document]) -> None:
        await self._server.publish(documents)


def site(name: str, backend: Backend) -> list[Document]:
    """One listener whose only route leads to cluster `name`, and so to `backend`."""
    return [
        cluster(name),
        assignment(name, [backend.port]),
        listener(LISTENER, ROUTES),
        routes(ROUTES, [route(name)]),
    ]


async def move_to_fresh(publisher: Publisher, backends: Sequence[Backend], count: int, interval: float) -> None:
    """Move the route `count` times to a cluster that was never there before; the old one goes each time."""
    for number in range(1, count + 1):
        started = time.monotonic()
        await publisher.publish(site(f"fresh-{number}", backends[number % len(backends)]))
        await asyncio.sleep(max(0.0, interval - (time.monotonic() - started)))


async def move_back_and_forth(publisher: Publisher, backends: Sequence[Backend], count: int, interval: float) -> None:
    """Move the route `count` times between clusters named after `backends`, each there only while it is used."""
    for number in range(count):
        started = time.monotonic()
        backend = backends[number % len(backends)]
        await publisher.publish(site(backend.name, backend))
        await asyncio.sleep(max(0.0, interval - (time.monotonic() - started)))

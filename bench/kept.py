"""What Tidegate itself keeps of a stream in memory, the transport left out: the product's connections without gRPC.

`tracemalloc` counts what is allocated and not given back, so neither the allocator nor gRPC blurs it.
"""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Sequence
from itertools import count as numbers

import msgspec
import uvloop

from bench.flat import Setting
from bench.shapes import ENVOY_EXTENSIONS
from bench.subscriber import Phrasebook, Subscriber, make_node
from xds_server.snapshot.groups import Group, Groups
from xds_server.status.events import EventBus
from xds_server.status.tracker import Tracker
from xds_server.stream.auth import Identity
from xds_server.stream.connection import Connection, Write
from xds_server.stream.context import StreamContext
from xds_server.stream.session import Variant
from xds_server.telemetry.metrics import Metrics


class Kept(msgspec.Struct):
    """Bytes kept of a stream that has everything: with a small node, and with Envoy's whole one in each request."""

    mode: str
    clusters: int
    plain: float
    node_always: float


def measure(sizes: Sequence[int] = (100, 1000), streams: int = 200) -> list[Kept]:
    """What is kept, for each number of clusters and in both variants of the protocol."""
    return [
        Kept(
            mode,
            clusters,
            uvloop.run(_bytes_a_stream(mode, clusters, streams, 0)),
            uvloop.run(_bytes_a_stream(mode, clusters, streams, ENVOY_EXTENSIONS)),
        )
        for mode in ("delta", "sotw")
        for clusters in sizes
    ]


async def _bytes_a_stream(mode: str, clusters: int, streams: int, extensions: int) -> float:
    fleet = _Connections(Setting(clusters).group(), mode, extensions)
    await fleet.add(1)  # What the first one makes is shared by all.
    gc.collect()
    tracemalloc.start()
    try:
        await fleet.add(streams)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / streams
    finally:
        tracemalloc.stop()


class _Connections:
    """Connections of the product whose clients are gone as soon as they have everything."""

    def __init__(self, group: Group, mode: str, extensions: int) -> None:
        groups = Groups(time.time)
        if group.current is not None:
            groups.obtain(group.name).publish(group.current)
        groups.set_synced()
        tracker = Tracker(groups, EventBus(time.time), time.time)
        self._shared = StreamContext(groups, tracker, Metrics())
        self._group = group.name
        self._book = Phrasebook(mode)
        self._extensions = extensions
        self._numbers = numbers()
        self._open: list[Connection] = []

    async def add(self, count: int) -> None:
        """Open so many connections, and let each take everything."""
        for _ in range(count):
            node = make_node(next(self._numbers), self._group, self._extensions)
            client = Subscriber(self._book, node, node_always=self._extensions > 0)
            self._open.append(await self._connect(client))

    async def _connect(self, client: Subscriber) -> Connection:
        inbox: list[bytes] = []
        connection = Connection(
            self._shared,
            Variant(self._book.mode),
            _writer(inbox),
            _fail,
            peer="127.0.0.1:1",
            only_type=None,
            caller=Identity(""),
        )
        for request in client.start():
            connection.receive(request)
        while True:
            await asyncio.sleep(0)
            if not inbox:
                break
            requests = [request for raw in inbox for request in client.receive(raw)[1]]
            inbox.clear()
            for request in requests:
                connection.receive(request)
        assert client.full
        return connection


def _writer(inbox: list[bytes]) -> Write:
    async def write(message: bytes) -> None:
        inbox.append(message)

    return write


def _fail(error: Exception) -> None:
    raise error

"""The real gRPC server inside the test's process: publishes at once, and lets a test look inside and count."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from tests.conformance.client import SLACK
from tests.conformance.server import Clients
from xds_server.credentials.tls import ServerTls
from xds_server.credentials.watched import Watched
from xds_server.demo.polling import until
from xds_server.demo.world import Document
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.origin import Origin
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.snapshot.groups import Groups
from xds_server.status.events import EventBus
from xds_server.status.tracker import Tracker
from xds_server.stream.context import Limits, StreamContext
from xds_server.stream.sequencer import Waits
from xds_server.stream.server import XdsServer
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes


class Counts:
    """A meter for streams that counts; `bytes` and the other counters are by type key."""

    def __init__(self) -> None:
        self.pushes: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.acks: Counter[str] = Counter()
        self.nacks: Counter[str] = Counter()
        self.timeouts: Counter[str] = Counter()
        self.rejections: Counter[str] = Counter()

    def pushed(self, type_key: str, size: int) -> None:
        self.pushes[type_key] += 1
        self.bytes[type_key] += size

    def acked(self, type_key: str, took: float) -> None:
        self.acks[type_key] += 1

    def nacked(self, type_key: str, group: str) -> None:
        self.nacks[type_key] += 1

    def sequencer_timeout(self, type_key: str) -> None:
        self.timeouts[type_key] += 1

    def rejected(self, reason: str) -> None:
        self.rejections[reason] += 1


class Inside:
    """A server in this process. `publish` takes a file's documents and serves what comes of it at once."""

    def __init__(self, limits: Limits, waits: Waits, tls: Watched[ServerTls] | None) -> None:
        self.groups = Groups(time.time, later=asyncio.get_running_loop().call_soon, prune=prune_routes)
        self.bus = EventBus(time.time)
        self.tracker = Tracker(self.groups, self.bus, time.time)
        self.counts = Counts()
        self.server = XdsServer(StreamContext(self.groups, self.tracker, self.counts, waits, limits), tls=tls)
        self.xds = ""
        self._assembler = Assembler(decode, prune_routes)

    def publish(self, documents: Iterable[Document], *, file: str = "world", group: str = "default") -> int:
        """Replace a file's documents and publish; the group's seq after it."""
        origin = Origin("test", file)
        declared = tuple(NativeDocument(group, document, origin) for document in documents)
        key = f"{group}/{file}"
        for snapshot in self._assembler.apply([Batch(0, "test", {key: Unit(key, declared)})], time.time()):
            self.groups.obtain(snapshot.group).publish(snapshot)
        current = self.groups.obtain(group).current
        return current.seq if current is not None else 0

    def clients(self, stack: AsyncExitStack) -> Clients:
        """Opens streams that end with `stack`; their nodes are in the group `default`."""
        return Clients(self.xds, stack)

    def in_sync(self) -> bool:
        """Whether every stream has accepted all that there is for it."""
        return all(node.in_sync() for node in self.tracker._live)

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for something inside the server. Raises TimeoutError."""

        async def probe() -> bool:
            return holds()

        await until(probe, within=10 * SLACK, what=what, interval=0.01)

    def streams(self) -> int:
        """How many streams are open, by the tracker."""
        return sum(self.tracker.streams().values())


@asynccontextmanager
async def inside(
    limits: Limits | None = None,
    waits: Waits | None = None,
    *,
    synced: bool = True,
    tls: Watched[ServerTls] | None = None,
) -> AsyncIterator[Inside]:
    """Run a server in this process, synced and serving unless told otherwise."""
    running = Inside(limits or Limits(), waits or Waits(), tls)
    running.xds = await running.server.start("127.0.0.1:0")
    if synced:
        running.groups.set_synced()
        await running.server.set_serving(serving=True)
    try:
        yield running
    finally:
        await running.server.stop()

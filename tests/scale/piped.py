"""The real server and the real pipeline inside the test's process, with a feed that the test speaks for a source."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.feature.inprocess import Inside, inside
from xds_server.demo.world import Document
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.origin import Origin
from xds_server.snapshot.assemble import Assembler
from xds_server.snapshot.feed import Feed
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes


@dataclass(slots=True)
class Rounds:
    """A meter of the pipeline: when each snapshot was published (monotonic seconds), and how long it was made."""

    published_at: list[float] = field(default_factory=list)
    build_seconds: list[float] = field(default_factory=list)

    def built(self, seconds: float) -> None:
        self.build_seconds.append(seconds)

    def published(self, group: str) -> None:
        self.published_at.append(time.monotonic())

    def push_latency(self, seconds: float) -> None:
        pass


@dataclass(slots=True)
class Piped:
    """A server whose world comes through `feed`; `inside` is the server, `rounds` what the pipeline did."""

    inside: Inside
    feed: Feed
    rounds: Rounds

    def write(self, file: str, *documents: Document) -> None:
        """Hand over a file's documents, as a source does."""
        self.feed.replace([unit(file, documents)])


def unit(file: str, documents: Iterable[Document]) -> Unit:
    """Documents of the default group, as a source hands them over."""
    origin = Origin("test", file)
    return Unit(file, tuple(NativeDocument("default", document, origin) for document in documents))


@asynccontextmanager
async def piped(coalesce: Coalesce | None = None) -> AsyncIterator[Piped]:
    """Run a server behind a pipeline; its feed is synced."""
    async with inside() as server:
        rounds = Rounds()
        assembler = Assembler(decode, prune_routes)
        pipeline = Pipeline(assembler, server.groups, coalesce or Coalesce(), rounds, server.bus.emit)
        feed = pipeline.feed("test", "test")
        feed.synced()
        running = asyncio.create_task(pipeline.run())
        try:
            yield Piped(server, feed, rounds)
        finally:
            running.cancel()
            await asyncio.wait([running])

"""A sink that keeps what a source tells it, and lets a test wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from xds_server.ir.declared import Declared, EncodedDocument, Unit
from xds_server.ir.problem import Problem
from xds_server.sources.files import FilesSource

CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
LIMIT = 20.0
"""Seconds after which a test gives up: far above what anything here takes."""


@dataclass
class RecordingSink:
    """All calls in order, and what stands after them."""

    units: dict[str, Unit] = field(default_factory=dict)
    calls: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    failures: list[Problem] = field(default_factory=list)
    recoveries: int = 0
    is_synced: bool = False
    is_failed: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def replace(self, units: Sequence[Unit], removed: Sequence[str] = ()) -> None:
        self.calls.append((tuple(unit.key for unit in units), tuple(removed)))
        for key in removed:
            self.units.pop(key, None)
        for unit in units:
            self.units[unit.key] = unit
        self.changed.set()

    def synced(self) -> None:
        self.is_synced = True
        self.changed.set()

    def failed(self, problem: Problem) -> None:
        self.failures.append(problem)
        self.is_failed = True
        self.changed.set()

    def recovered(self) -> None:
        self.recoveries += 1
        self.is_failed = False
        self.changed.set()

    def names(self) -> dict[str, list[object]]:
        """The names of the resources of each unit."""
        return {key: [_name(each) for each in unit.documents] for key, unit in self.units.items()}

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(LIMIT):
            while not holds():
                self.changed.clear()
                await self.changed.wait()

    async def shows(self, names: dict[str, list[object]]) -> None:
        """Wait until exactly these units with these resources stand."""
        try:
            await self.until(lambda: self.names() == names)
        except TimeoutError:
            raise AssertionError(f"expected {names}, there is {self.names()}") from None


@asynccontextmanager
async def running(path: Path, *, watch: bool = True, settle: float = 0.1) -> AsyncIterator[RecordingSink]:
    """A files source at work on a path, once it has synced or failed."""
    sink = RecordingSink()
    task = asyncio.create_task(FilesSource("files", path, watch, settle).run(sink))
    try:
        await sink.until(lambda: sink.is_synced or sink.is_failed)
        yield sink
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()):
            raise error


def cluster(name: str) -> str:
    """A document that declares a cluster."""
    return f'"@type": {CLUSTER}\nname: {name}\n'


def put(path: Path, text: str) -> None:
    """Replace a file by rename, as careful programs do."""
    fresh = path.with_name(f".{path.name}.fresh")
    fresh.write_text(text)
    fresh.replace(path)


def _name(document: Declared) -> object:
    return document.name if isinstance(document, EncodedDocument) else document.body.get("name")

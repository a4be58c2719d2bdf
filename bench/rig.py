"""The pipeline of the product over a synthetic world: what a source, the assembler and the groups are in a server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Sequence

from bench.documents import assignment_unit, world
from xds_server.ir.declared import Unit
from xds_server.ir.facts import NO_FACTS, FactChanges
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.snapshot.snapshot import Change, Snapshot
from xds_server.status.events import EventBus
from xds_server.telemetry.metrics import Metrics
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.wire.types import ENDPOINT

GROUP = "bench"
"""The group of everything here: the generators' nodes are of the cluster of that name."""

_TIMEOUT = 300.0


class StampingAssembler(Assembler):
    """An assembler whose versions of assignments end in `@` and when their oldest change was made.

    That is POSIX nanoseconds; the generators tell from it how late each stream got the change.
    """

    def __init__(self) -> None:
        super().__init__(decode, prune_routes)
        self.made: dict[str, float] = {}

    def apply(
        self,
        batches: Iterable[Batch],
        now: float,
        only: Collection[str] | None = None,
        facts: FactChanges = NO_FACTS,
        *,
        origin: Change | None = None,
    ) -> list[Snapshot]:
        """See `Assembler.apply`."""
        taken = list(batches)
        times = [self.made.pop(key) for batch in taken for key in batch.units if key in self.made]
        snapshots = super().apply(taken, now, only, facts, origin=origin)
        for snapshot in snapshots:
            typeset = snapshot.typeset(ENDPOINT)
            if "@" not in typeset.version:
                # A cached property: from now on it is this.
                vars(typeset)["version"] = f"{typeset.version}@{int(min(times, default=now) * 1e9)}"
        return snapshots


class Rig:
    """A source, the pipeline and the groups; made inside a running loop."""

    def __init__(self, clusters: int, endpoints: int = 10, routes: int = 100) -> None:
        self.groups = Groups(time.time, later=asyncio.get_running_loop().call_soon)
        self.bus = EventBus(time.time)
        self.metrics = Metrics()
        self._size = (clusters, endpoints, routes)
        self._generation = 0
        self._assembler = StampingAssembler()
        self.pipeline = Pipeline(self._assembler, self.groups, Coalesce(), self.metrics, self.bus.emit)
        self._feed = self.pipeline.feed("bench", "bench")

    async def start(self) -> None:
        """Publish the world for the first time."""
        self._feed.synced()
        await self.publish(self.everything())

    def everything(self) -> list[Unit]:
        """A change of every assignment and of the routes."""
        clusters, endpoints, routes = self._size
        self._generation += 1
        return list(world(GROUP, clusters, endpoints, routes, self._generation).values())

    def one(self) -> list[Unit]:
        """A change of one endpoint."""
        clusters, endpoints, _ = self._size
        self._generation += 1
        return [assignment_unit(GROUP, self._generation % clusters, endpoints, self._generation)]

    def hand_over(self, units: Sequence[Unit]) -> None:
        """Say it as a source does."""
        now = time.time()
        for unit in units:
            self._assembler.made.setdefault(unit.key, now)
        self._feed.replace(units)

    async def publish(self, units: Sequence[Unit]) -> float:
        """Hand units over; the seconds until their snapshot is served."""
        group, served = self.groups.obtain(GROUP), asyncio.Event()
        group.watch(self, lambda _: served.set())
        started = time.perf_counter()
        self.hand_over(units)
        async with asyncio.timeout(_TIMEOUT):
            await served.wait()
        group.unwatch(self)
        return time.perf_counter() - started

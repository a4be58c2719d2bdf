"""The pipeline: gathers what sources say, waits until they pause, and publishes what comes of it.

The one place where derivation meets the event loop. Assembling runs in a worker thread, one at a time, so that
no change of any size holds the loop; publishing is a swap of references.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import structlog

from xds_server.derive.outcome import Outcome
from xds_server.ir.events import EventKind
from xds_server.ir.facts import NO_FACTS, FactChanges
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.ir.switches import FrozenRoutes, Switches
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.snapshot.derivation import Round
from xds_server.snapshot.feed import Feed, SourceReport
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.meter import Meter, Trace, Traced
from xds_server.snapshot.objects import NOTHING_GOOD, LastGood
from xds_server.snapshot.snapshot import Change, Hold, Snapshot
from xds_server.sources.turns import in_turns

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Coalesce:
    """How long to wait for more: until nothing came for `quiet` seconds, but never longer than `most`."""

    quiet: float = 0.01
    most: float = 0.1


Emit = Callable[[EventKind, dict[str, object]], object]
Keep = Callable[[Snapshot], None]
"""Has a snapshot stored, without waiting for it."""

Told = Callable[[Outcome], Iterable[None] | None]
"""Takes what came of a round beside snapshots; called on the event loop, after these are published.

Who has much to do gives it back as steps, between which others of the loop have turns. All are taken before the next
round.
"""


class Pipeline:
    """From feeds to groups. Runs until cancelled."""

    def __init__(
        self,
        assembler: Assembler,
        groups: Groups,
        coalesce: Coalesce,
        meter: Meter,
        emit: Emit,
        *,
        keep: Keep = lambda _snapshot: None,
        traced: Traced = lambda _began: nullcontext(),
    ) -> None:
        self._assembler = assembler
        self._groups = groups
        self._coalesce = coalesce
        self._meter = meter
        self._emit = emit
        self._keep = keep
        self._traced = traced
        self._assembling = asyncio.Lock()
        self._restored: frozenset[str] = frozenset()
        self._feeds: list[Feed] = []
        self.synced = asyncio.Event()
        self._dirty = asyncio.Event()
        self._last_word = 0.0
        self._handed = 0
        self._taken_in = 0
        self._progress = asyncio.Event()
        self._told: dict[str, tuple[object, ...]] = {}
        self._facts = NO_FACTS
        self._followers: list[Told] = []

    def feed(self, name: str, kind: str) -> Feed:
        """A new feed for a source; the first keeps names that several sources claim."""
        feed = Feed(name, kind, self._wake, time.time)
        self._feeds.append(feed)
        return feed

    def follow(self, told: Told) -> None:
        """Have a function told what comes of each round beside snapshots: all of it, when called before `run`."""
        self._followers.append(told)

    def observe(self, facts: FactChanges) -> None:
        """Take facts that have changed; of two under one key the last counts. To be called on the event loop."""
        self._facts |= facts
        self._wake()

    def restore(self, restored: Mapping[str, Sequence[Snapshot]], good: LastGood = NOTHING_GOOD) -> None:
        """Serve what each group was served last before this process, as its history, oldest first, tells.

        `good` are the objects that were in force.

        To be called once all feeds are there and before `run`.
        """
        for name, snapshots in restored.items():
            self._groups.obtain(name).restore(snapshots)
        ranks = {feed.name: rank for rank, feed in enumerate(self._feeds)}
        self._restored = frozenset(restored)
        self._assembler.restore([snapshots[-1] for snapshots in restored.values()], ranks, good)

    async def hold(self, group: str, held: Hold, version: Snapshot) -> Snapshot:
        """Have a group go back to a version and stay there; the snapshot that is served from then on."""
        origin = Change("rollback", f"to seq {version.seq}: {held.reason}")
        return await self._set_hold(group, held, version, origin)

    async def release(self, group: str, reason: str) -> Snapshot:
        """Have a group go on; the snapshot that is served from then on."""
        return await self._set_hold(group, None, None, Change("release", reason))

    async def _set_hold(self, group: str, held: Hold | None, version: Snapshot | None, origin: Change) -> Snapshot:
        async with self._assembling:
            snapshot = await asyncio.to_thread(self._assembler.hold, group, held, version, origin, time.time())
            self._publish(snapshot)
            self._note_behind()
        return snapshot

    def begin(self, switches: Switches, frozen: FrozenRoutes) -> FrozenRoutes:
        """Go by these switches from the start: as `govern`, but to be called after `restore` and before `run`."""
        return self._assembler.begin(switches, frozen)

    async def govern(self, switches: Switches, frozen: FrozenRoutes, why: str) -> FrozenRoutes:
        """Go by these switches from now on; once done, what is kept of the routes that are frozen now."""
        async with self._assembling:
            only = None if self.synced.is_set() else self._restored
            started = time.monotonic()
            snapshots, kept = await asyncio.to_thread(
                self._assembler.govern, switches, frozen, Change("switch", why), time.time(), only
            )
            await self._settle(snapshots, started, started)
        return kept

    @property
    def is_waiting(self) -> bool:
        """See `Assembler.is_waiting`."""
        return self._assembler.is_waiting

    def sources(self) -> list[SourceReport]:
        """How every source fares."""
        return [feed.report() for feed in self._feeds]

    async def settled(self) -> None:
        """Wait until all that was handed over so far has been taken in (see `_round` for what that needs)."""
        target = self._handed
        while self._taken_in < target:
            self._progress.clear()
            await self._progress.wait()

    async def run(self) -> None:
        """Assemble and publish whenever something was handed over, and once at the start: there may be no sources."""
        self._wake()
        while True:
            await self._dirty.wait()
            first = self._last_word
            await self._pause(first)
            self._dirty.clear()
            async with self._assembling:
                await self._round(first)

    def _wake(self) -> None:
        self._last_word = time.monotonic()
        self._handed += 1
        self._dirty.set()

    async def _pause(self, first: float) -> None:
        end = first + self._coalesce.most
        while (wait := min(self._last_word + self._coalesce.quiet, end) - time.monotonic()) > 0:  # noqa: ASYNC110 - it waits for quiet, and quiet is no event
            await asyncio.sleep(wait)

    async def _round(self, first: float) -> None:
        """Nothing is published before all sources are synced: half a world would take the rest of it away.

        But for groups whose last good snapshot was restored: in them what was of the other sources stays.
        """
        synced = [(rank, feed) for rank, feed in enumerate(self._feeds) if feed.is_synced]
        is_whole = len(synced) == len(self._feeds)
        if not is_whole and not (synced and self._restored):
            self._report()
            return
        handed = self._handed
        batches = [Batch(rank, feed.name, feed.take()) for rank, feed in synced]
        facts, self._facts = self._facts, NO_FACTS
        started = time.monotonic()
        try:
            snapshots = await asyncio.to_thread(
                self._assembler.apply, batches, time.time(), None if is_whole else self._restored, facts
            )
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end what is served
            _log.exception("assembly_failed")
            for (_, feed), batch in zip(synced, batches, strict=True):
                feed.put_back(batch.units)
            self._facts = facts | self._facts
            self._stumble(error)
            self._note_taken_in(handed)
            return
        self._meter.built(time.monotonic() - started)
        for rank, feed in synced:
            feed.problems = self._assembler.problems(rank, feed.name)
            feed.objects = self._assembler.objects(rank)
        await self._settle(snapshots, first, started)
        if is_whole:
            self._groups.set_synced()
            self.synced.set()
        self._report()
        self._note_taken_in(handed)

    async def _settle(self, snapshots: Sequence[Snapshot], first: float, started: float) -> None:
        """Publish and tell what came of a round."""
        self._publish_all(snapshots, first, started)
        self._note_behind()
        await in_turns(self._tell(self._assembler.derived))
        for (group, url, name), fault in self._assembler.faults.items():
            _log.error("assembly_failed", group=group, type=url, name=name, exc_info=fault)
            self._stumble(fault)

    def _note_behind(self) -> None:
        behind = self._assembler.behind
        for group in self._groups:
            group.behind = behind.get(group.name)

    def _publish_all(self, snapshots: Sequence[Snapshot], first: float, started: float) -> None:
        """Publish what came of changes of which the first was seen at `first`, and of which assembly has just ended."""
        if not snapshots:
            return
        with self._traced(first) as trace:
            if trace is not None:
                trace.assembled(started, time.monotonic())
            for snapshot in snapshots:
                self._publish(snapshot, trace)
        self._meter.push_latency(time.monotonic() - first)

    def _tell(self, made: Round) -> Iterator[None]:
        for fault in made.faults:
            _log.error("derivation_failed", item=f"{fault.collection} {fault.key}", exc_info=fault.error)
        if made.outcome:
            for told in self._followers:
                try:
                    yield from told(made.outcome) or ()
                except Exception:  # noqa: BLE001 - a fault in what follows must not end what is served
                    _log.exception("outcome_not_taken")
                yield

    def _note_taken_in(self, handed: int) -> None:
        self._taken_in = handed
        self._progress.set()

    def _stumble(self, error: Exception) -> None:
        """Tell that a round failed: what was served before goes on to be served."""
        for feed in self._feeds:
            message = f"what changed last could not be taken in ({type(error).__name__}); see the log"
            feed.problems = [Problem(Origin(feed.name), "AssemblyFailed", message), *feed.problems]
        self._report()

    def _publish(self, snapshot: Snapshot, trace: Trace | None = None) -> None:
        group, began = self._groups.obtain(snapshot.group), time.monotonic()
        before = group.current
        is_filled_in = group.current is not None and group.current.seq == snapshot.seq
        group.publish(snapshot)
        if is_filled_in:
            return
        self._keep(snapshot)
        self._meter.published(snapshot.group)
        origin = {"source": snapshot.origin.source, "change": snapshot.origin.change}
        data: dict[str, str | int] = {"group": snapshot.group, "version": snapshot.version, "seq": snapshot.seq}
        if trace is not None:
            group.tally.trace = trace.id
            trace.published({**data, **origin}, _changed_types(before, snapshot), began)
        self._emit(EventKind.VERSION, {**data, "origin": origin})

    def _report(self) -> None:
        """Tell of each source whose health is not what was last told."""
        for report in self.sources():
            health = (report.synced, report.problems)
            if self._told.get(report.name) == health:
                continue
            self._told[report.name] = health
            error = str(report.problems[0]) if report.problems else None
            self._emit(EventKind.SOURCE, {"source": report.name, "synced": report.synced, "error": error})


def _changed_types(before: Snapshot | None, after: Snapshot) -> dict[str, str]:
    """The versions of the types that are not what they were."""
    old = before.types if before is not None else {}
    return {url: typeset.version for url, typeset in after.types.items() if old.get(url) is not typeset}

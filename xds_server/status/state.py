"""What outlives the process: the snapshots that were served and the audit log; without a `state_dir` nothing does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from xds_server.ir.objects import Object, ObjectKey
from xds_server.settings.root import Settings
from xds_server.snapshot.history.store import Store, open_store
from xds_server.snapshot.history.switches import Governed
from xds_server.snapshot.history.writer import Writer
from xds_server.snapshot.objects import NOTHING_GOOD, LastGood
from xds_server.snapshot.snapshot import Snapshot
from xds_server.sources.base import DecodeObject
from xds_server.sources.push.model import Changed, Place, PushedSet
from xds_server.status.audit import Audit
from xds_server.status.audit_entry import Action
from xds_server.status.audit_file import Journal
from xds_server.status.route_memory import RouteMemory
from xds_server.status.settings_change import changed_settings
from xds_server.wire.resource import Resource

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OnDisk:
    """Whether a snapshot that is served is stored, and whether the hold of its group is, or that there is none."""

    snapshot: bool
    hold: bool


class State:
    """The state directory of the settings, as far as there is one."""

    def __init__(
        self,
        settings: Settings,
        holds_secrets: Callable[[Resource], bool],
        clock: Callable[[], float],
        decode_object: DecodeObject,
    ) -> None:
        """Read what is there. Blocks.

        Raises:
            OSError: The directory can't be used, another process uses it, or the key can't be read.
        """
        self.store: Store | None = open_store(settings, holds_secrets, clock, decode_object)
        self.journal = Journal(self.store.audit_folder, self.store.failed) if self.store is not None else None
        self._changed_settings = self._compare(settings)
        self.routes = RouteMemory(clock)
        """What is remembered of routes: verdicts for the judge, good decisions for derivation, decisions for the status."""
        if self.store is not None:
            self.routes = RouteMemory(clock, self.store.decisions.keep, self.store.decisions.restored)

    @property
    def restored(self) -> Mapping[str, Sequence[Snapshot]]:
        """What each group was served before, oldest first."""
        return self.store.restored if self.store is not None else {}

    def tell_damage(self, audit: Audit) -> None:
        """Note in the audit log which files were not whole."""
        for fault in self.store.faults if self.store is not None else ():
            audit.record(
                Action.STATE_DAMAGED, fault.path, actor="tidegate", reason=fault.message, after=fault.set_aside
            )

    def tell_settings(self, audit: Audit) -> None:
        """Note in the audit log which settings are not what they were at the last start."""
        if self._changed_settings:
            keys = ", ".join(self._changed_settings)
            audit.record(Action.SETTING, keys, actor="configuration", reason="changed since the last start")

    def _compare(self, settings: Settings) -> list[str]:
        if settings.state_dir is None:
            return []
        try:
            return changed_settings(settings.state_dir, settings.model_dump(mode="json"))
        except OSError as error:
            _log.warning("settings_not_remembered", path=str(settings.state_dir), error=error.strerror)
            return []

    def save(self, snapshot: Snapshot) -> None:
        """Store a snapshot some time soon."""
        if self.store is not None:
            self.store.save(snapshot)

    @property
    def good(self) -> LastGood:
        """The objects that were in force before."""
        return self.store.objects.restored if self.store is not None else NOTHING_GOOD

    def keep_objects(self, objects: Mapping[ObjectKey, Object | None]) -> None:
        """Store changed objects in their last good form some time soon."""
        if self.store is not None and objects:
            self.store.objects.keep(objects)

    @property
    def pushed(self) -> Mapping[Place, PushedSet]:
        """The sets that outside programs owned before."""
        return self.store.pushed.restored if self.store is not None else {}

    def keep(self, changed: Changed) -> None:
        """Store a change of such a set some time soon."""
        if self.store is not None:
            self.store.pushed.keep(changed)

    def on_disk(self, snapshot: Snapshot) -> OnDisk | None:
        """What of a snapshot is on disk by now; None without a `state_dir`."""
        if self.store is None:
            return None
        group = snapshot.group
        is_stored = self.store.flushed_seq.get(group, 0) >= snapshot.seq
        return OnDisk(is_stored, self.store.flushed_hold.get(group) == snapshot.held)

    @property
    def governed(self) -> Governed:
        """What operators had decided before."""
        return self.store.switches.restored if self.store is not None else Governed()

    def keep_governed(self, governed: Governed) -> None:
        """Store what operators have decided some time soon."""
        if self.store is not None:
            self.store.switches.keep(governed)

    async def flushed(self) -> None:
        """Wait until everything so far is on disk."""
        for writer in self._writers():
            await writer.flushed()

    async def run(self) -> None:
        """Write until `close` is called."""
        await asyncio.gather(*(writer.run() for writer in self._writers()))

    async def close(self) -> None:
        """Write what is left, and let go of the directory; `run` must have been started."""
        await asyncio.gather(*(writer.close() for writer in self._writers()))
        if self.store is not None:
            self.store.close()

    def _writers(self) -> list[Writer[Any]]:
        if self.store is None or self.journal is None:
            return []
        store = self.store
        return [
            store.writer,
            store.pushed.writer,
            store.decisions.writer,
            store.objects.writer,
            store.switches.writer,
            self.journal.writer,
        ]

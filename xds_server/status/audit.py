"""The audit log: who changed what, when and why; every version, every degradation, and what people and programs did."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import dropwhile, islice

from xds_server.ir.events import Event, EventKind
from xds_server.status.audit_entry import KEPT, Action, Entry, Roll
from xds_server.status.audit_file import Journal
from xds_server.status.events import EventBus


class Audit:
    """Keeps the newest entries of each roll in memory and, with a journal, on disk. All calls belong on the event loop."""

    def __init__(self, bus: EventBus, clock: Callable[[], float], journal: Journal | None = None) -> None:
        """Number entries as `bus` numbers events; begin with what the journal holds."""
        self._bus = bus
        self._clock = clock
        self._journal = journal
        self._rolls: dict[Roll, deque[Entry]] = {roll: deque(maxlen=KEPT) for roll in Roll}
        self._served: dict[str, str] = {}
        for entry in journal.restored if journal is not None else ():
            self._rolls[entry.roll].append(entry)
            if entry.action == Action.VERSION:
                self._served[entry.target] = entry.version

    def record(
        self,
        action: Action,
        target: str,
        *,
        actor: str,
        reason: str = "",
        before: object = None,
        after: object = None,
        version: str = "",
    ) -> Entry:
        """Note that `actor` did something to `target`; `before` and `after` are JSON values without secrets."""
        entry = Entry(self._bus.number(), self._clock(), actor, action, target, reason, before, after, version)
        self._add(entry)
        return entry

    def emit(self, kind: EventKind, data: Mapping[str, object]) -> None:
        """Tell an event to all who follow; of a version, a degradation and a switch there is an entry of the same number, too."""
        event = self._bus.emit(kind, data)
        if kind is EventKind.VERSION:
            self._add_version(event)
        elif kind is EventKind.DEGRADATION:
            self._add_degradation(event)
        elif kind is EventKind.SWITCH:
            self._add_switch(event)

    def _add_degradation(self, event: Event) -> None:
        data = event.data
        target, reason, version = str(data["route"]), str(data["reason"]), str(data["version"])
        before, after = data["before"], data["after"]
        self._add(Entry(event.id, event.at, "tidegate", Action.DEGRADATION, target, reason, before, after, version))

    def _add_switch(self, event: Event) -> None:
        data = event.data
        target, actor, reason = str(data["target"]), str(data["by"]), str(data["reason"])
        self._add(Entry(event.id, event.at, actor, Action.SWITCH, target, reason, data["before"], data["after"], ""))

    def _add_version(self, event: Event) -> None:
        data = event.data
        group, version, origin = str(data["group"]), str(data["version"]), data["origin"]
        made = origin if isinstance(origin, Mapping) else {}
        before, self._served[group] = self._served.get(group), version
        self._add(
            Entry(
                event.id,
                event.at,
                str(made.get("source", "")),
                Action.VERSION,
                group,
                str(made.get("change", "")),
                before,
                version,
                version,
            )
        )

    def page(self, after: int | None, limit: int) -> tuple[list[Entry], int | None]:
        """At most `limit` entries, newest first, those after entry `after` in this order; what to ask for next."""
        found = list(islice(dropwhile(lambda each: after is not None and each.id >= after, self._newest()), limit + 1))
        return found[:limit], found[limit - 1].id if len(found) > limit else None

    def _newest(self) -> Iterator[Entry]:
        return heapq.merge(*(reversed(kept) for kept in self._rolls.values()), key=lambda each: -each.id)

    def _add(self, entry: Entry) -> None:
        self._rolls[entry.roll].append(entry)
        if self._journal is not None:
            self._journal.writer.add(entry)

"""The tracker: who is connected, how far each group has come, and who left a moment ago."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xds_server.ir.events import EventKind
from xds_server.ir.origin import Origin
from xds_server.snapshot.groups import Groups
from xds_server.status.culprit import as_json
from xds_server.status.events import EventBus
from xds_server.status.node import LiveNode, NodeReport

DEPARTED_SHOWN = 60.0
"""Seconds for which a node that left is still shown, as not connected."""

_DEPARTED_KEPT = 10_000

_CULPRITS_TOLD = 20


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """The nodes of a group: connected now, with everything accepted, refusing something."""

    connected: int
    acked: int
    nacked: int

    @property
    def programmed(self) -> bool:
        """Whether every connected node has accepted the version; false with none."""
        return 0 < self.connected == self.acked


class Tracker:
    """The registry of streams. Streams are looked at when somebody asks; nothing is copied per ACK."""

    def __init__(self, groups: Groups, bus: EventBus, clock: Callable[[], float]) -> None:
        """Take times from `clock` (POSIX seconds)."""
        self._groups = groups
        self._bus = bus
        self._clock = clock
        self._live: dict[LiveNode, None] = {}
        self._by_group: dict[str, dict[LiveNode, None]] = {}
        self._departed: dict[tuple[str, str], tuple[float, NodeReport]] = {}
        self._envoys: dict[str, Counter[str]] = {}
        self._followers: list[Callable[[str], None]] = []
        self._watchers: list[Callable[[str], None]] = []

    def follow(self, told: Callable[[str], None]) -> None:
        """Have a function told of each Envoy that comes or goes, by its group; it must be quick."""
        self._followers.append(told)

    def follow_moves(self, told: Callable[[str], None]) -> None:
        """Have a function told of each group in which a node came, left, accepted all or refused something; it must be quick."""
        self._watchers.append(told)

    def envoys(self, group: str) -> int:
        """How many Envoys of a group are connected; several streams of one `node.id` are one."""
        return len(self._envoys.get(group, ()))

    def joined(self, node: LiveNode) -> None:
        """Note a stream whose node has said who it is."""
        self._live[node] = None
        self._by_group.setdefault(node.group, {})[node] = None
        self._move(node.group)
        if node.is_envoy:
            self._count(node, 1)

    def left(self, node: LiveNode) -> None:
        """Note the end of a stream."""
        if self._live.pop(node, node) is node:
            return
        self._move(node.group)
        if node.is_envoy:
            self._count(node, -1)
        members = self._by_group[node.group]
        del members[node]
        if not members:
            del self._by_group[node.group]
            self._groups.forget(node.group)
        # The report only, and the newest of each node: what is kept must not grow with the streams that come and go.
        key = (node.group, node.id)
        self._departed.pop(key, None)
        self._departed[key] = (self._clock(), replace(node.report(), connected=False))
        self._expire()

    def _count(self, node: LiveNode, streams: int) -> None:
        counts = self._envoys.setdefault(node.group, Counter())
        counts[node.id] += streams
        if not counts[node.id]:
            del counts[node.id]
        if not counts:
            del self._envoys[node.group]
        for told in self._followers:
            told(node.group)

    def _expire(self) -> None:
        """Forget who left too long ago, and the first to leave when too many did."""
        oldest = self._clock() - DEPARTED_SHOWN
        while self._departed:
            key = next(iter(self._departed))
            if self._departed[key][0] >= oldest and len(self._departed) <= _DEPARTED_KEPT:
                return
            del self._departed[key]

    def acked(self, node: LiveNode, type_key: str, version: str) -> None:
        """Note an ACK."""
        self._emit(EventKind.ACK, node, {"type": type_key, "version": version})

    def nacked(self, node: LiveNode, type_key: str, version: str, message: str, culprit: Sequence[Origin] = ()) -> None:
        """Note a NACK; `culprit` tells where the contents under suspicion are declared, of many the first 20."""
        told = [as_json(each) for each in culprit[:_CULPRITS_TOLD]]
        self._emit(EventKind.NACK, node, {"type": type_key, "version": version, "message": message, "culprit": told})

    def completed(self, node: LiveNode) -> None:
        """Note that a node has accepted the current snapshot of its group as a whole."""
        self._move(node.group)
        group = self._groups.get(node.group)
        if group is not None:
            group.tally.acked += 1

    def refused(self, node: LiveNode) -> None:
        """Note that a node has refused something of the current snapshot of its group."""
        self._move(node.group)
        group = self._groups.get(node.group)
        if group is not None:
            group.tally.nacked += 1

    def _move(self, group: str) -> None:
        for told in self._watchers:
            told(group)

    def _emit(self, kind: EventKind, node: LiveNode, data: dict[str, object]) -> None:
        self._bus.emit(kind, {"node": node.id, "group": node.group, **data})

    def counts(self, group: str) -> NodeCounts:
        """How far the nodes of a group have come. Who has not been told of its newest version has not accepted it."""
        members = self._by_group.get(group, {})
        found = self._groups.get(group)
        untold = found.untold if found is not None else frozenset()
        acked = sum(node.in_sync() and node not in untold for node in members)
        return NodeCounts(len(members), acked, sum(node.refusing() for node in members))

    def streams(self) -> Mapping[str, int]:
        """How many streams are up, by protocol."""
        return Counter(node.protocol for node in self._live)

    def live(self, node_id: str | None = None) -> list[LiveNode]:
        """The streams that are up (of one node), in the order in which they came."""
        return [node for node in self._live if node_id in (None, node.id)]

    def nodes(self, group: str | None = None, node_id: str | None = None) -> list[NodeReport]:
        """Reports on all streams, and on the last of each node that left less than a minute ago; by id, then time."""
        self._expire()
        live = self._live if group is None else self._by_group.get(group, {})
        reports = [node.report() for node in live if node_id is None or node.id == node_id]
        reports += [
            report
            for _, report in self._departed.values()
            if group in (None, report.group) and node_id in (None, report.id)
        ]
        return sorted(reports, key=lambda report: (report.id, report.since))

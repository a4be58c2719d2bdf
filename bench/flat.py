"""What a change of one endpoint costs as the configuration grows: time, and work counted, without a network.

The real assembler, a real group, and some dozen real sessions; only the sockets are missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import count as numbers
from statistics import median

import msgspec

from bench.documents import assignment_unit, world
from bench.fleet import Fleet
from bench.work import Work, count
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.snapshot.groups import Group, Groups
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes

SIZES = (100, 1000, 10_000)
_GROUP = "bench"
_ENDPOINTS = 10
_ROUTES = 100


class Cost(msgspec.Struct):
    """The cost of one change: medians in microseconds, and the work of it all.

    Deriving is done once; telling and taking the ACK is of each session.
    """

    mode: str
    clusters: int
    sessions: int
    derive_us: float
    tell_us: float
    ack_us: float
    work: Work


class Setting:
    """A world that is assembled and served to a fleet."""

    def __init__(self, clusters: int) -> None:
        self._clusters = clusters
        self._generations = numbers(1)
        self._assembler = Assembler(decode, prune_routes)
        self._snapshots = self._assembler.apply([Batch(0, "bench", world(_GROUP, clusters, _ENDPOINTS, _ROUTES))], 0.0)

    def group(self) -> Group:
        """A new group that serves this world."""
        group = Groups(time.time).obtain(_GROUP)
        for snapshot in self._snapshots:
            group.publish(snapshot)
        return group

    def change(self) -> None:
        """Derive the next change of one endpoint; `publish` hands it on."""
        generation = next(self._generations)
        unit = assignment_unit(_GROUP, generation % self._clusters, _ENDPOINTS, generation)
        self._snapshots = self._assembler.apply([Batch(0, "bench", {unit.key: unit})], 0.0)

    def publish(self, group: Group) -> None:
        """Serve what was derived last."""
        for snapshot in self._snapshots:
            group.publish(snapshot)


def measure(sizes: Sequence[int] = SIZES, sessions: int = 50, changes: int = 30) -> list[Cost]:
    """The costs at each size, in both variants of the protocol."""
    settings = [(size, Setting(size)) for size in sizes]
    return [_cost(setting, mode, size, sessions, changes) for mode in ("delta", "sotw") for size, setting in settings]


def _cost(setting: Setting, mode: str, clusters: int, sessions: int, changes: int) -> Cost:
    group = setting.group()
    fleet = Fleet(group, mode, sessions)
    times = [_timed_change(setting, group, fleet) for _ in range(changes + 1)][1:]
    work = count(lambda: _timed_change(setting, group, fleet))
    derive, tell, ack = (median(column) * 1e6 for column in zip(*times, strict=True))
    return Cost(mode, clusters, sessions, derive, tell / sessions, ack / sessions, work)


def _timed_change(setting: Setting, group: Group, fleet: Fleet) -> tuple[float, float, float]:
    """One change from the source to the last ACK; the seconds of its three parts."""
    derive = _timed(setting.change)
    tell = _timed(lambda: setting.publish(group))
    replies = fleet.replies()
    return derive, tell, _timed(lambda: fleet.take_all(replies))


def _timed(action: Callable[[], object]) -> float:
    started = time.thread_time()
    action()
    return time.thread_time() - started

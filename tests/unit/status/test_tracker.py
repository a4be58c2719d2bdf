"""The tracker: who is there, how far a group has come, and who left a moment ago, in bounded memory."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xds_server.snapshot.groups import Groups
from xds_server.snapshot.snapshot import Snapshot
from xds_server.status.config import TypeView
from xds_server.status.events import EventBus
from xds_server.status.node import NodeReport
from xds_server.status.tracker import DEPARTED_SHOWN, Tracker
from xds_server.wire.csds import Client


@dataclass(eq=False)
class Node:
    """A stream, as far as the tracker sees it."""

    id: str
    group: str = "g"
    protocol: str = "delta"
    synced: bool = True
    refuses: bool = False
    is_envoy: bool = True
    big: list[int] = field(default_factory=lambda: [0] * 1000)

    def in_sync(self) -> bool:
        return self.synced

    def refusing(self) -> bool:
        return self.refuses

    def client(self) -> Client:
        return Client(self.id, "", "")

    def config(self) -> Sequence[TypeView]:
        return ()

    def report(self) -> NodeReport:
        return NodeReport(self.id, self.group, "", "", self.protocol, "", connected=True, since=0.0, types={})


class Clock:
    """A clock that tests set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def tracker(clock: Clock) -> Tracker:
    return Tracker(Groups(clock), EventBus(clock), clock)


def _pass(tracked: Tracker, node: Node) -> weakref.ref[Node]:
    """Have a stream come and go; a reference that does not keep it."""
    tracked.joined(node)
    tracked.left(node)
    return weakref.ref(node)


def test_a_group_is_programmed_when_every_connected_node_has_accepted() -> None:
    tracked = tracker(Clock())
    assert not tracked.counts("g").programmed, "not with no node"
    nodes = [Node("a"), Node("b", synced=False, refuses=True)]
    for node in nodes:
        tracked.joined(node)
    counts = tracked.counts("g")
    assert (counts.connected, counts.acked, counts.nacked, counts.programmed) == (2, 1, 1, False)
    nodes[1].synced = True
    assert tracked.counts("g").programmed


def test_a_node_that_left_is_shown_for_a_minute_as_not_connected() -> None:
    clock = Clock()
    tracked = tracker(clock)
    node = Node("a")
    tracked.joined(node)
    tracked.left(node)
    assert [(each.id, each.connected) for each in tracked.nodes()] == [("a", False)]
    assert tracked.nodes(group="other") == []
    clock.now += DEPARTED_SHOWN + 1
    assert tracked.nodes() == []


def test_streams_that_ended_leave_one_report_a_node_and_no_stream_behind() -> None:
    tracked = tracker(Clock())
    streams = [_pass(tracked, Node(f"n{number % 5}")) for number in range(100)]
    gc.collect()
    assert not any(stream() for stream in streams)
    assert [each.id for each in tracked.nodes()] == ["n0", "n1", "n2", "n3", "n4"]


def test_two_streams_may_share_an_id() -> None:
    tracked = tracker(Clock())
    old, new = Node("a"), Node("a", protocol="sotw")
    tracked.joined(old)
    tracked.joined(new)
    assert len(tracked.nodes(node_id="a")) == 2
    tracked.left(old)
    assert {each.protocol: each.connected for each in tracked.nodes(node_id="a")} == {"delta": False, "sotw": True}
    assert tracked.streams() == {"sotw": 1}


def test_who_was_not_told_yet_has_not_accepted() -> None:
    later: list[Callable[[], None]] = []
    groups = Groups(lambda: 1.0, later=later.append)
    group = groups.obtain("g")
    tracked = Tracker(groups, EventBus(lambda: 1.0), lambda: 1.0)
    nodes = [Node("a"), Node("b")]
    for node in nodes:
        group.watch(node, slow)
        tracked.joined(node)
    group.publish(Snapshot("g", 1, 1.0))
    assert tracked.counts("g").acked == 1, "the first took all the time there was"
    while later:
        later.pop()()
    assert tracked.counts("g").acked == 2


def slow(_snapshot: Snapshot) -> None:
    time.sleep(0.02)

"""What a group is served, when rollbacks and switches stand before what is wanted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xds_server.ir.switches import Switch, Switches, Value
from xds_server.snapshot.serving import Serving, Wanted
from xds_server.snapshot.snapshot import Change, Hold, Snapshot
from xds_server.snapshot.typeset import empty
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ROUTE

SWITCH = Switch("*", Value.ON, "because", "operator", 0.0)
READ_ONLY, FROZEN, FREE = Switches(read_only=SWITCH), Switches(freeze=(SWITCH,)), Switches()
HELD = Hold("v", 1, "operator", "slow", 0.0)


def wanted(content: str, url: str = ROUTE) -> Wanted:
    typeset = empty(url).evolve({"one": Resource("one", url, content.encode())})
    return Wanted({url: typeset}, ())


class Group:
    """One group, and what becomes of it."""

    def __init__(self) -> None:
        self.serving = Serving()
        self.wanted = wanted("")
        self.served: list[Snapshot] = []

    def want(self, content: str) -> Snapshot | None:
        self.wanted = wanted(content)
        return self.settle()

    def govern(self, switches: Switches) -> Snapshot | None:
        self.serving.govern(switches)
        return self.settle()

    def hold(self, version: Snapshot | None) -> Snapshot:
        self.serving.hold("g", version)
        held = HELD if version is not None else None
        return self.serving.publish("g", self.wanted, held, Change(), 0.0)

    def settle(self) -> Snapshot | None:
        return self.serving.settle("g", self.wanted, Change(), 0.0)

    @property
    def is_behind(self) -> bool:
        return "g" in self.serving.behind


def content(snapshot: Snapshot | None) -> bytes | None:
    return snapshot.types[ROUTE].resources["one"].body if snapshot is not None else None


def test_read_only_what_is_never_served_has_no_seq() -> None:
    group = Group()
    assert content(group.want("a")) == b"a"
    assert group.govern(READ_ONLY) is None
    assert not group.is_behind
    assert group.want("b") is None
    would_be = group.serving.behind["g"]
    assert group.want("c") is None
    assert group.serving.behind["g"].version != would_be.version
    assert group.want("a") is None
    assert not group.is_behind
    group.want("c")
    snapshot = group.govern(FREE)
    assert snapshot is not None
    assert (content(snapshot), snapshot.seq) == (b"c", 2)
    assert not group.is_behind


def test_a_release_with_nothing_new_publishes_nothing() -> None:
    group = Group()
    group.want("a")
    for switches in (READ_ONLY, FREE, FROZEN, FREE):
        assert group.govern(switches) is None


def test_frozen_nothing_but_what_flows_is_served() -> None:
    group = Group()
    group.want("a")
    assert group.govern(FROZEN) is None
    assert group.want("b") is None
    behind = group.serving.behind["g"]
    assert (behind.reason, behind.message) == ("Frozen", "by operator: because")
    assert content(group.govern(FREE)) == b"b"


@pytest.mark.parametrize("switches", [READ_ONLY, FROZEN])
def test_a_group_that_was_served_nothing_goes_on_without(switches: Switches) -> None:
    group = Group()
    group.serving.govern(switches)
    assert group.want("a") is None
    assert group.is_behind
    snapshot = group.govern(FREE)
    assert snapshot is not None
    assert snapshot.seq == 1


def test_a_rollback_of_a_frozen_group_holds_and_its_release_is_back_at_what_was_frozen() -> None:
    group = Group()
    first = group.want("a")
    group.want("b")
    group.govern(FROZEN)
    group.want("c")
    assert content(group.hold(first)) == b"a"
    assert content(group.hold(None)) == b"b"
    assert content(group.govern(FREE)) == b"c"


def test_after_a_restart_frozen_is_what_was_served() -> None:
    group, before = Group(), Group()
    last = before.want("a")
    assert last is not None
    group.serving.restore(replace(last, seq=7))
    group.serving.govern(FROZEN)
    assert group.want("b") is None
    snapshot = group.govern(FREE)
    assert snapshot is not None
    assert (content(snapshot), snapshot.seq) == (b"b", 8)


def test_another_switch_while_frozen_keeps_what_was_frozen() -> None:
    group = Group()
    group.want("a")
    group.govern(FROZEN)
    group.want("b")
    assert group.govern(replace(FROZEN, read_only=SWITCH)) is None
    assert group.govern(FROZEN) is None
    group.want("c")
    assert content(group.govern(FREE)) == b"c"


def test_clusters_are_kept_too() -> None:
    group = Group()
    group.wanted = wanted("a", CLUSTER)
    group.settle()
    group.govern(FROZEN)
    group.wanted = wanted("b", CLUSTER)
    assert group.settle() is None

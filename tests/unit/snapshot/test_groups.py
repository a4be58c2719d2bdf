"""Groups: who watches hears of the newest snapshot, in turns that leave room for others."""

from __future__ import annotations

import time
from collections.abc import Callable

from xds_server.snapshot.groups import Groups
from xds_server.snapshot.snapshot import Hold, Snapshot


def test_a_group_of_a_synced_world_is_never_without_a_snapshot() -> None:
    groups = Groups(lambda: 7.0)
    early = groups.obtain("early")
    assert early.current is None
    groups.set_synced()
    assert early.current is not None
    assert early.current.created == 7.0
    assert groups.obtain("late").current is not None


def test_a_group_in_which_nothing_was_declared_is_forgotten_and_another_is_not() -> None:
    groups = Groups(lambda: 0.0)
    groups.set_synced()
    groups.obtain("passing")
    groups.obtain("kept").publish(Snapshot("kept", 1, 0.0))
    groups.forget("passing")
    groups.forget("kept")
    assert [group.name for group in groups] == ["kept"]


def test_many_listeners_are_told_in_turns_and_the_late_ones_hear_of_the_newest_only() -> None:
    turns: list[Callable[[], None]] = []
    group = Groups(lambda: 0.0, later=turns.append).obtain("g")
    heard: dict[int, list[int]] = {number: [] for number in range(250)}

    def listener(told: list[int]) -> Callable[[Snapshot], None]:
        def listen(snapshot: Snapshot) -> None:
            time.sleep(0.0005)
            told.append(snapshot.seq)

        return listen

    for number, told in heard.items():
        group.watch(number, listener(told))
    group.publish(Snapshot("g", 1, 0.0))
    assert 1 <= sum(map(len, heard.values())) <= 20, "a turn is short, however long each listener takes"
    group.unwatch(249)
    group.publish(Snapshot("g", 2, 0.0))
    assert len(turns) == 1, "a second publish does not start a second round"
    while turns:
        turns.pop()()
    assert all(told[-1] == 2 for number, told in heard.items() if number != 249)
    assert heard[248] == [2]
    assert heard[249] == []


def test_the_held_version_stays_while_it_is_held_however_many_and_old() -> None:
    group = Groups(lambda: 0.0, keep=2, age=10.0).obtain("g")
    held = Hold("v", 1, "op", "slow", 1.0)
    group.publish(Snapshot("g", 1, 1.0))
    for seq in range(2, 8):
        group.publish(Snapshot("g", seq, seq * 100.0, held=held))
        assert [each.seq for each, _ in group.history()] == [seq, 1]
        assert group.find("1") is not None
    group.publish(Snapshot("g", 8, 701.0))
    assert [each.seq for each, _ in group.history()] == [8, 7]

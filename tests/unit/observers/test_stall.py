"""Stalls: as many samples as it takes with more records and the same commits."""

from __future__ import annotations

from observers.kafka_lag.questions import Partition
from observers.kafka_lag.stall import Stalls
from xds_server.ir.facts import LagQuery

QUERY = LagQuery("default", "g", ("a",))
AT = {Partition("a", 0): 5}


def test_samples_without_more_records_neither_count_nor_interrupt() -> None:
    stalls = Stalls(3)
    assert [stalls.look(QUERY, AT, end) for end in (10, 11, 11, 12, 12, 13, 13)] == [False] * 5 + [True] * 2


def test_a_commit_ends_it() -> None:
    stalls = Stalls(1)
    assert [stalls.look(QUERY, AT, end) for end in (1, 2)] == [False, True]
    assert not stalls.look(QUERY, {Partition("a", 0): 6}, 3)
    assert stalls.look(QUERY, {Partition("a", 0): 6}, 4)


def test_a_group_without_commits_does_not_stall() -> None:
    stalls = Stalls(1)
    never = {Partition("a", 0): None}
    assert not any(stalls.look(QUERY, never, end) for end in range(5))


def test_what_is_not_wanted_any_more_is_forgotten() -> None:
    stalls = Stalls(1)
    stalls.look(QUERY, AT, 1)
    stalls.keep_only([])
    assert not stalls.look(QUERY, AT, 2)

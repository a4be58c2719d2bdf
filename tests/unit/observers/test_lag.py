"""The arithmetic of lag: never negative, never less for want of an answer, and a word for what has no number."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from observers.kafka_lag.lag import Found, Position, answer, total
from observers.kafka_lag.questions import Metadata, Partition, RefusedError
from observers.sampler import Failure, Nothing, TargetError, Value
from xds_server.ir.facts import LagQuery

OFFSETS = st.integers(0, 2**62)
POSITIONS = st.lists(st.builds(Position, st.none() | OFFSETS, OFFSETS, OFFSETS), max_size=8)
LEADER = ("127.0.0.1", 9092)
QUERY = LagQuery("default", "g", ("a",))
EVERY = LagQuery("default", "g")
A0, A1 = Partition("a", 0), Partition("a", 1)
FOUND = Found(
    Metadata((LEADER,), {"a": {0: LEADER, 1: LEADER}}, {}),
    {QUERY: {A0: 3, A1: None}, EVERY: {A0: 3}},
    {A0: 10, A1: 20},
    {A1: 15},
    frozenset({"g"}),
)


@given(POSITIONS)
def test_never_negative_and_never_less_with_what_has_no_commit(positions: list[Position]) -> None:
    everything, committed = total(positions)
    assert 0 <= committed <= everything


@given(POSITIONS, st.data())
def test_monotone(positions: list[Position], data: st.DataObject) -> None:
    """More records never mean less lag, and more commits never mean more, in any partition."""
    more = data.draw(st.lists(OFFSETS, min_size=len(positions), max_size=len(positions)))
    longer = [each._replace(end=each.end + extra) for each, extra in zip(positions, more, strict=True)]
    assert total(longer) >= total(positions)
    further = [
        each if each.committed is None else each._replace(committed=each.committed + extra)
        for each, extra in zip(positions, more, strict=True)
    ]
    assert total(further) <= total(positions)


@given(POSITIONS, POSITIONS)
def test_a_sum_over_partitions(one: list[Position], two: list[Position]) -> None:
    parts, whole = (total(one), total(two)), total([*one, *two])
    assert whole == (parts[0][0] + parts[1][0], parts[0][1] + parts[1][1])


def test_all_of_it_together() -> None:
    assert answer(QUERY, FOUND) == Value(7 + 5, 7, "no offset yet")
    assert answer(EVERY, FOUND) == Value(7 + 5, 7, "no offset yet")


@pytest.mark.parametrize("missing", [A0, A1])
def test_a_part_is_never_told_as_the_whole(missing: Partition) -> None:
    lost = TargetError("unreachable", "h:9092: gone")
    expected = Failure("partial", f"{missing} can't be counted: h:9092: gone")
    assert answer(QUERY, replace(FOUND, ends={**FOUND.ends, missing: lost})) == expected
    assert answer(QUERY, replace(FOUND, begins={A1: lost})) == replace(
        expected, detail="a[1] can't be counted: h:9092: gone"
    )


def test_commits_that_could_not_be_asked_for_are_a_failure() -> None:
    error = TargetError("timeout", "commits of group g: no answer in time")
    assert answer(QUERY, replace(FOUND, commits={QUERY: error})) == Failure("timeout", str(error))


def test_states_of_commits() -> None:
    def state(*committed: int | None, stalled: bool = False, groups: frozenset[str] = frozenset({"g"})) -> str:
        commits = dict(zip((A0, A1), committed, strict=True))
        begins = {A0: 0, A1: 0}
        found = answer(QUERY, replace(FOUND, commits={QUERY: commits}, begins=begins, groups=groups), stalled=stalled)
        assert isinstance(found, Value)
        return found.state

    assert state(1, 1) == "ok"
    assert state(1, 1, stalled=True) == state(1, None, stalled=True) == "stalled"
    assert state(1, None) == state(None, None) == "no offset yet"
    assert state(None, None, groups=frozenset()) == "no such group"


def test_an_empty_answer_is_unknown_until_the_list_of_groups_speaks() -> None:
    empty = replace(FOUND, commits={EVERY: {}})
    lost = TargetError("timeout", "list of groups: no answer in time")
    assert isinstance(answer(EVERY, replace(empty, groups=lost)), Failure)
    there, gone = answer(EVERY, empty), answer(EVERY, replace(empty, groups=frozenset()))
    assert isinstance(there, Nothing)
    assert isinstance(gone, Nothing)
    assert (there.state, gone.state) == ("no offset yet", "no such group")


@pytest.mark.parametrize(
    ("code", "state"), [(3, "topic not found"), (17, "topic not found"), (29, "denied"), (5, "refused")]
)
def test_topics_that_were_named_in_vain(code: int, state: str) -> None:
    metadata = Metadata((LEADER,), {}, {"a": RefusedError(code, "topic a")})
    found = answer(QUERY, replace(FOUND, metadata=metadata))
    assert isinstance(found, Nothing if state == "topic not found" else Failure)
    assert found.state == state


def test_a_commit_to_a_topic_that_is_gone_is_no_smaller_lag() -> None:
    commits = {EVERY: {A0: 3, Partition("gone", 0): 5}}
    found = answer(EVERY, replace(FOUND, commits=commits))
    assert isinstance(found, Nothing)
    assert found.detail == "topic gone is not there, or may not be described"

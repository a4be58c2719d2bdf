"""The rule of one route: a table, properties, and K89 under virtual time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from observers.verdict import State, forget_samples, look, observe
from xds_server.ir.facts import LagQuery, NoCommit, Observation, Rule, Verdict

QUERY = LagQuery("default", "orders")
START = 1_000_000.0


def seen(value: float | None, at: float) -> Observation:
    return Observation(QUERY, value, sampled=at, unknown="Kafka is down" if value is None else None)


def run(rule: Rule, values: Iterable[float | None], state: State = State()) -> list[Verdict]:  # noqa: B008 - frozen
    """The verdicts after each second's sample; an unknown value is no sample. Dwells end on time in between."""
    verdicts = []
    for second, value in enumerate(values):
        now = START + second
        state = look(state, rule, now).state
        state = observe(state, rule, seen(value, now if value is not None else state.sampled), now).state
        verdicts.append(state.verdict)
    return verdicts


def switches(verdicts: list[Verdict]) -> int:
    return sum(one is not other for one, other in pairwise([Verdict.NORMAL, *verdicts]))


RULE = Rule(threshold=100, recover=80, min_dwell=0)
TABLE: dict[str, tuple[Rule, list[float | None], str]] = {
    "at the threshold is not over it": (RULE, [100, 100], "nn"),
    "over at once": (RULE, [101], "o"),
    "between the two nothing changes": (RULE, [101, 99, 81, 101], "oooo"),
    "back at the recover threshold": (RULE, [101, 80], "on"),
    "three in a row": (Rule(100, 80, enter_samples=3, min_dwell=0), [101, 101, 99, 101, 101, 101], "nnnnno"),
    "unknown counts not and breaks no row": (
        Rule(100, 80, enter_samples=3, min_dwell=0),
        [101, 101, None, None, 101],
        "nnnno",
    ),
    "unknown holds over": (RULE, [101, None, None, None], "oooo"),
    "not a number is unknown": (RULE, [101, float("nan"), 200], "ooo"),
    "dwell delays no first degradation": (Rule(100, 80, min_dwell=5), [101], "o"),
    "dwell delays the return": (Rule(100, 80, min_dwell=3), [101, 0, 0, 0, 0], "ooonn"),
    "what comes back meanwhile cancels it": (Rule(100, 80, min_dwell=3), [101, 0, 90, 90, 90, 0], "ooooon"),
    "dwell delays the second degradation": (
        Rule(100, 80, min_dwell=3),
        [101, 0, 0, 0, 200, 200, 200],
        "ooonnno",
    ),
    "a return that is due is not made while the value is unknown": (
        Rule(100, 80, min_dwell=3),
        [101, 0, None, None, None, 0],
        "ooooon",
    ),
    "a threshold of nothing": (Rule(0, 0, min_dwell=0), [0, 1, 0], "non"),
    "without end": (RULE, [float("inf"), 0], "on"),
}


@pytest.mark.parametrize("case", TABLE)
def test_table(case: str) -> None:
    rule, values, expected = TABLE[case]
    assert "".join(verdict.value[0] for verdict in run(rule, values)) == expected


def test_same_sample_is_no_new_one() -> None:
    rule = Rule(100, 80, enter_samples=2, min_dwell=0)
    state = observe(State(), rule, seen(150, START), START).state
    for later in range(10):
        state = observe(state, rule, seen(150, START), START + later).state
    assert state.verdict is Verdict.NORMAL
    assert observe(state, rule, seen(150, START + 11), START + 11).state.verdict is Verdict.OVER


def test_tells_when_to_look_again() -> None:
    rule = Rule(100, 80, min_dwell=30)
    over = observe(State(), rule, seen(150, START), START)
    assert over.again is None
    back = observe(over.state, rule, seen(0, START + 5), START + 5)
    assert (back.state.verdict, back.again) == (Verdict.OVER, START + 30)
    assert look(back.state, rule, START + 29.9).state.verdict is Verdict.OVER
    assert look(back.state, rule, START + 30).state.verdict is Verdict.NORMAL


def test_clock_that_was_set_back_makes_no_dwell_longer() -> None:
    rule = Rule(100, 80, min_dwell=30)
    state = State(Verdict.OVER, since=START, was_over=True)
    step = observe(state, rule, seen(0, START - 5000), START - 5000)
    assert step.again == START - 5000 + 30
    assert look(step.state, rule, START - 5000 + 30).state.verdict is Verdict.NORMAL


def test_another_rule_keeps_the_verdict_until_the_next_sample() -> None:
    over = observe(State(), RULE, seen(150, START), START).state
    higher = Rule(1000, 800, min_dwell=0)
    kept = look(forget_samples(over), higher, START + 1).state
    assert kept.verdict is Verdict.OVER
    assert observe(kept, higher, seen(150, START + 2), START + 2).state.verdict is Verdict.NORMAL


def test_partitions_without_a_commit_count_as_the_rule_says() -> None:
    observation = Observation(QUERY, 500, committed=10, sampled=START)
    assert observe(State(), RULE, observation, START).state.verdict is Verdict.OVER
    latest = Rule(100, 80, no_commit=NoCommit.LATEST)
    assert observe(State(), latest, observation, START).state.verdict is Verdict.NORMAL


def test_k89_oscillation_switches_once_at_most() -> None:
    swinging = [95.0, 105.0] * 60
    for rule in (Rule(100, 80), Rule(100, 80, min_dwell=0), Rule(100, 80, enter_samples=3), Rule(100, 100, 3)):
        assert switches(run(rule, swinging)) <= 1


def test_k89_whole_input() -> None:
    rule = Rule(100, 80, enter_samples=3)
    phases: list[list[float | None]] = [[95, 105] * 60, [10_000], [50] * 10, [150] * 60, [20] * 60]
    verdicts = run(rule, [value for phase in phases for value in phase])
    before = sum(len(phase) for phase in phases[:3])
    assert switches(verdicts[:before]) == 0
    assert switches(verdicts[before:]) == 2
    assert verdicts[before + 2] is Verdict.OVER, "the third sample in a row degrades it"
    assert verdicts[before + 59] is Verdict.OVER
    assert verdicts[before + 60] is Verdict.NORMAL, "the dwell is long over: the first low sample brings it back"


rules = st.builds(
    lambda threshold, share, samples, dwell: Rule(threshold, threshold * share, samples, dwell),
    st.floats(0, 1000),
    st.floats(0, 1),
    st.integers(1, 4),
    st.floats(0, 20),
)
values = st.lists(st.none() | st.floats(0, 2000), max_size=60)


@given(rules, values)
def test_every_change_has_its_reason(rule: Rule, found: list[float | None]) -> None:
    verdicts = [Verdict.NORMAL, *run(rule, found)]
    changes = [at for at in range(1, len(verdicts)) if verdicts[at] is not verdicts[at - 1]]
    for at in changes:
        # What is due at the end of a dwell was said by the sample before the one of that second.
        said = [[value for value in found[:end] if value is not None] for end in (at - 1, at)]
        if verdicts[at] is Verdict.OVER:
            rows = [known[-rule.enter_samples :] for known in said]
            assert any(len(row) == rule.enter_samples and min(row) > rule.threshold for row in rows)
        else:
            assert any(known and known[-1] <= rule.recover for known in said)
    assert all(other - one >= rule.min_dwell for one, other in pairwise(changes))


@given(rules, values)
def test_unknown_values_change_nothing(rule: Rule, found: list[float | None]) -> None:
    state = State()
    for second, value in enumerate(found):
        state = observe(state, rule, seen(value, START + second), START + second).state
    for later in range(50):
        now = START + len(found) + later
        assert observe(state, rule, seen(None, 0.0), now).state.verdict is state.verdict
        unknown = observe(state, rule, seen(None, 0.0), now).state
        assert look(unknown, rule, now + 1000).state.verdict is state.verdict

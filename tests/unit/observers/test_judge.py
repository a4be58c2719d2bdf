"""The judge: what it wants of observers, and which verdicts it tells, whoever watches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from observers.judge import NOT_A_NUMBER, NOT_SAMPLED, Judge
from xds_server.ir.facts import (
    Conclusion,
    LagQuery,
    NoCommit,
    Observation,
    Query,
    RouteKey,
    Rule,
    ValueQuery,
    Verdict,
    Watch,
)

START = 1_000_000.0
ORDERS = LagQuery("default", "orders")
OTHERS = LagQuery("default", "others")
RULE = Rule(100, 80, min_dwell=30)


class Clockwork:
    """A clock that moves by hand, with the calls that were put off."""

    def __init__(self) -> None:
        self.now = START
        self.calls: dict[object, tuple[float, Callable[[], None]]] = {}

    def later(self, seconds: float, call: Callable[[], None]) -> Put:
        put = Put(self)
        self.calls[put] = (self.now + seconds, call)
        return put

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for put, (at, call) in list(self.calls.items()):
            if at <= self.now and put in self.calls:
                del self.calls[put]
                call()


class Put:
    def __init__(self, clockwork: Clockwork) -> None:
        self.clockwork = clockwork

    def cancel(self) -> None:
        self.clockwork.calls.pop(self, None)


class World:
    """A judge with all that it tells."""

    def __init__(self, restored: Mapping[RouteKey, Conclusion] | None = None) -> None:
        self.time = Clockwork()
        self.told: list[dict[RouteKey, Verdict]] = []
        self.wanted: list[tuple[str, list[Query]]] = []
        self.noted: list[list[RouteKey]] = []
        self.judge = Judge(
            lambda: self.time.now,
            self.time.later,
            lambda told: self.told.append(dict(told)),
            self.want,
            lambda routes: self.noted.append(list(routes)),
            restored=restored,
        )

    def want(self, observer: str, queries: Sequence[Query]) -> None:
        self.wanted.append((observer, list(queries)))

    def sample(self, value: float | None, query: Query = ORDERS, **more: object) -> None:
        known = self.time.now if value is not None else 0.0
        unknown = None if value is not None else "no broker answers"
        self.judge.take([Observation(query, value, sampled=known, unknown=unknown, **more)])  # type: ignore[arg-type]


@pytest.fixture
def world() -> World:
    return World()


def route(name: str) -> RouteKey:
    return RouteKey("shop", "edge", name)


def test_equal_queries_are_wanted_once(world: World) -> None:
    world.judge.follow({route(str(number)): Watch(ORDERS, RULE) for number in range(5000)})
    assert world.wanted == [("kafka", [ORDERS])]
    world.judge.follow({route("more"): Watch(ORDERS, RULE)})
    assert len(world.wanted) == 1, "nothing new is wanted"
    world.judge.follow({route(str(number)): None for number in range(5000)})
    assert len(world.wanted) == 1, "one route still watches it"
    world.judge.follow({route("more"): None})
    assert world.wanted[1:] == [("kafka", [])]


def test_each_observer_is_told_its_own(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE), route("b"): Watch(ValueQuery("up"), RULE)})
    assert world.wanted == [("kafka", [ORDERS]), ("prometheus", [ValueQuery("up")])]


def test_tells_changes_only(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE), route("b"): Watch(ORDERS, Rule(1000, 800))})
    world.sample(50)
    assert world.told == []
    world.time.advance(5)
    world.sample(150)
    world.time.advance(5)
    world.sample(160)
    assert world.told == [{route("a"): Verdict.OVER}]
    assert world.judge.verdicts() == {route("a"): Verdict.OVER}


def test_unknown_changes_nothing(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(150)
    for _ in range(100):
        world.time.advance(60)
        world.sample(None)
    assert world.told == [{route("a"): Verdict.OVER}]
    reading = world.judge.reading(route("a"))
    assert reading is not None
    assert (reading.value, reading.unknown, reading.last) == (None, "no broker answers", 150)
    assert (reading.sampled, reading.verdict) == (START, Verdict.OVER)


def test_dwell_ends_without_a_sample(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(150)
    world.time.advance(5)
    world.sample(0)
    world.time.advance(24.9)
    assert len(world.told) == 1
    world.time.advance(0.1)
    assert world.told[1:] == [{route("a"): Verdict.NORMAL}]


def test_dwell_of_a_route_that_is_gone_ends_nowhere(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(150)
    world.time.advance(5)
    world.sample(0)
    world.judge.follow({route("a"): None})
    assert world.time.calls == {}
    assert world.told[1:] == [{route("a"): Verdict.NORMAL}]
    assert world.judge.reading(route("a")) is None


def test_another_rule_keeps_the_verdict(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(150)
    world.judge.follow({route("a"): Watch(ORDERS, Rule(1000, 800, min_dwell=0))})
    assert len(world.told) == 1
    world.time.advance(5)
    world.sample(150)
    assert world.told[1:] == [{route("a"): Verdict.NORMAL}]


def test_a_verdict_that_changes_since_its_rule_was_edited_says_so(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(150)
    assert not world.judge.follows_an_edit(route("a"))
    world.judge.follow({route("a"): Watch(ORDERS, Rule(1000, 800, min_dwell=0))})
    world.time.advance(5)
    world.sample(None)
    world.sample(150)
    assert world.told[1:] == [{route("a"): Verdict.NORMAL}]
    assert world.judge.follows_an_edit(route("a"))
    world.time.advance(5)
    world.sample(1500)
    assert world.told[2:] == [{route("a"): Verdict.OVER}]
    assert not world.judge.follows_an_edit(route("a"))


QUERIES = (
    ORDERS,
    OTHERS,
    LagQuery("default", "orders", ("paid",)),
    LagQuery("elsewhere", "orders"),
    ValueQuery("up"),
)


@pytest.mark.parametrize("query", QUERIES[1:], ids=str)
def test_another_query_keeps_the_verdict_until_its_first_sample(world: World, query: Query) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(150)
    world.judge.follow({route("a"): Watch(query, RULE)})
    assert world.told[1:] == [], "nothing is known of it yet"
    assert world.wanted[-1] == (query.observer, [query])
    world.time.advance(60)
    world.sample(None, query)
    assert world.told[1:] == []
    world.sample(50, query)
    assert world.told[1:] == [{route("a"): Verdict.NORMAL}]


def test_another_query_begins_its_row_of_samples_anew(world: World) -> None:
    rule = Rule(100, 80, enter_samples=2)
    world.judge.follow({route("a"): Watch(ORDERS, rule)})
    world.sample(150)
    world.judge.follow({route("a"): Watch(OTHERS, rule)})
    world.time.advance(5)
    world.sample(150, OTHERS)
    assert world.told == []
    world.time.advance(5)
    world.sample(150, OTHERS)
    assert world.told == [{route("a"): Verdict.OVER}]


def test_another_query_goes_on_with_the_dwell(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE), route("b"): Watch(OTHERS, RULE)})
    world.sample(150)
    world.sample(50, OTHERS)
    world.judge.follow({route("a"): Watch(OTHERS, RULE)})
    assert world.told[1:] == [], "known already, and not due yet"
    world.time.advance(30)
    assert world.told[1:] == [{route("a"): Verdict.NORMAL}]


@given(st.lists(st.sampled_from(QUERIES)))
def test_no_row_of_changed_queries_without_a_sample_changes_a_verdict(queries: list[Query]) -> None:
    world = World()
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(150)
    for query in queries:
        world.judge.follow({route("a"): Watch(query, RULE)})
        world.time.advance(60)
    assert world.judge.verdicts() == {route("a"): Verdict.OVER}
    world.judge.follow({route("a"): None})
    assert world.told[1:] == [{route("a"): Verdict.NORMAL}], "only a watch that is removed ends at normal"


def test_verdict_outlives_a_restart(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(150)
    conclusion = world.judge.conclusion(route("a"))
    assert conclusion == Conclusion(Verdict.OVER, START, was_over=True)
    after = World({route("a"): conclusion})
    assert after.judge.verdicts() == {route("a"): Verdict.OVER}, "derivation begins with it"
    after.judge.follow({route("a"): Watch(ORDERS, RULE)})
    assert after.told == []
    after.time.advance(10)
    after.sample(0)
    assert after.told == [], "the dwell goes on"
    after.time.advance(20)
    assert after.told == [{route("a"): Verdict.NORMAL}]


def test_restored_verdict_holds_for_another_query() -> None:
    world = World({route("a"): Conclusion(Verdict.OVER, START, was_over=True)})
    world.judge.follow({route("a"): Watch(OTHERS, RULE)})
    assert world.told == []
    assert world.judge.verdicts() == {route("a"): Verdict.OVER}


def test_restored_verdicts_wait_until_all_is_settled() -> None:
    found = Conclusion(Verdict.OVER, START, was_over=True)
    world = World({route("a"): found, route("gone"): found})
    assert world.judge.conclusion(route("gone")) == found
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.judge.settled()
    assert world.told == [{route("gone"): Verdict.NORMAL}], "derivation forgets it, too"
    assert world.judge.conclusion(route("gone")) is None
    assert world.judge.verdicts() == {route("a"): Verdict.OVER}


def test_route_that_comes_later_is_judged_by_what_is_known(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(150)
    world.judge.follow({route("b"): Watch(ORDERS, RULE)})
    assert world.told[1:] == [{route("b"): Verdict.OVER}]


def test_not_sampled_is_unknown(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    reading = world.judge.reading(route("a"))
    assert reading is not None
    assert (reading.value, reading.unknown, reading.sampled) == (None, NOT_SAMPLED, 0.0)


def test_notes_what_becomes_known_or_unknown(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE), route("b"): Watch(ORDERS, RULE)})
    for value in (None, 1, 2, None, None, 3):
        world.time.advance(1)
        world.sample(value)
    assert world.noted == [[route("a"), route("b")]] * 3


def test_value_counts_as_the_rule_has_it(world: World) -> None:
    latest = Rule(100, 80, no_commit=NoCommit.LATEST)
    world.judge.follow({route("a"): Watch(ORDERS, RULE), route("b"): Watch(ORDERS, latest)})
    world.sample(500, committed=10.0)
    assert world.told == [{route("a"): Verdict.OVER}]
    readings = [world.judge.reading(route(name)) for name in "ab"]
    assert [each.value if each else None for each in readings] == [500, 10]


def test_what_is_not_a_number_is_unknown(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(150)
    world.time.advance(1)
    world.sample(float("nan"))
    reading = world.judge.reading(route("a"))
    assert reading is not None
    assert (reading.value, reading.unknown, reading.last) == (None, NOT_A_NUMBER, 150)
    assert reading.verdict is Verdict.OVER


def test_what_nobody_wants_is_left_aside(world: World) -> None:
    world.sample(150)
    assert world.told == []


OVER_THERE = Conclusion(Verdict.OVER, START, was_over=True)
NORMAL_THERE = Conclusion(Verdict.NORMAL, START, was_over=True)


def test_somebody_elses_conclusion_stands_whatever_is_sampled(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.sample(10)
    world.judge.pin({route("a"): OVER_THERE, route("nobody-watches"): OVER_THERE})
    assert world.told == [{route("a"): Verdict.OVER}]
    for value in (10, 500, 0):
        world.time.advance(60)
        world.sample(value)
    assert world.judge.conclusion(route("a")) == OVER_THERE
    assert len(world.told) == 1
    world.judge.pin({route("a"): NORMAL_THERE})
    assert world.told[1:] == [{route("a"): Verdict.NORMAL}]
    world.judge.follow({route("nobody-watches"): Watch(OTHERS, RULE)})
    assert world.judge.conclusion(route("nobody-watches")) == OVER_THERE, "also of a route that comes later"


def test_without_it_judging_goes_on_from_there(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.judge.pin({route("a"): OVER_THERE})
    world.sample(90)
    world.judge.pin({route("a"): None})
    assert world.judge.conclusion(route("a")) == OVER_THERE, "90 is not below the recovery threshold"
    world.time.advance(29)
    world.sample(10)
    assert len(world.told) == 1, "the dwell counts from when the other one concluded it"
    world.time.advance(2)
    assert world.told[1:] == [{route("a"): Verdict.NORMAL}]


def test_what_was_sampled_meanwhile_counts_at_once(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.judge.pin({route("a"): OVER_THERE})
    world.time.advance(60)
    world.sample(10)
    world.judge.pin({route("a"): None, route("b"): None})
    assert world.told == [{route("a"): Verdict.OVER}, {route("a"): Verdict.NORMAL}]
    assert not world.judge.is_pinned(route("a"))


def test_who_does_not_know_the_value_has_no_opinion(world: World) -> None:
    world.judge.follow({route("a"): Watch(ORDERS, RULE)})
    world.judge.pin({route("a"): OVER_THERE})
    assert world.judge.opinion(route("a")) is None
    assert world.judge.opinion(route("b")) is None
    world.sample(10)
    assert world.judge.opinion(route("a")) == OVER_THERE
    world.sample(None)
    assert world.judge.opinion(route("a")) is None


@given(
    st.lists(
        st.one_of(st.integers(0, 200), st.none(), st.sampled_from([OVER_THERE, NORMAL_THERE]), st.just("unpin")),
        max_size=30,
    )
)
def test_a_pin_decides_as_long_as_it_stands(steps: list[object]) -> None:
    world = World()
    a = route("a")
    world.judge.follow({a: Watch(ORDERS, RULE)})
    pinned: Conclusion | None = None
    for step in steps:
        world.time.advance(7)
        if isinstance(step, Conclusion) or step == "unpin":
            pinned = step if isinstance(step, Conclusion) else None
            world.judge.pin({a: pinned})
        else:
            world.sample(step)  # type: ignore[arg-type]
        found = world.judge.conclusion(a)
        assert found is not None
        assert pinned in (None, found)
        told = [each[a] for each in world.told]
        assert found.verdict is (told[-1] if told else Verdict.NORMAL)
        assert all(before is not after for before, after in pairwise(told))

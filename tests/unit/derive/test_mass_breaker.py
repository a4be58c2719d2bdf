"""The breaker on degradation itself, in virtual time."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st

from xds_server.derive.mass_breaker import BreakerState, Limits, Step, adopt, counting, forget, look, reset, take
from xds_server.ir.facts import RouteKey, Verdict

OVER, NORMAL = Verdict.OVER, Verdict.NORMAL
LIMITS = Limits(percent=50, window=60.0, minimum=4)


def routes(*numbers: int, verdict: Verdict = OVER) -> dict[RouteKey, Verdict]:
    return {RouteKey("shop", "web", str(number)): verdict for number in numbers}


class Play:
    """A breaker, and what counts because of it."""

    def __init__(self, watched: int, limits: Limits = LIMITS) -> None:
        self.state = BreakerState()
        self.counts: dict[RouteKey, Verdict] = {}
        self.watched = watched
        self._limits = limits

    def take(self, now: float, verdicts: Mapping[RouteKey, Verdict]) -> bool:
        self.at(now)
        self._note(take(self.state, self._limits, verdicts, self.watched, now))
        return self.state.since is not None

    def at(self, now: float) -> bool:
        self._note(look(self.state, self._limits, self.watched, now))
        return self.state.since is not None

    def _note(self, step: Step) -> None:
        self.state = step.state
        self.counts.update(step.counts)

    @property
    def over(self) -> int:
        return sum(verdict is OVER for verdict in self.counts.values())


def test_more_than_half_at_once_is_held_whole() -> None:
    play = Play(10)
    assert play.take(0, routes(*range(6)))
    assert play.over == 0
    assert play.state.would_degrade == 6


@pytest.mark.parametrize(
    ("watched", "turned", "trips"),
    [(10, 5, False), (10, 6, True), (4, 2, False), (4, 3, True), (3, 3, False), (1, 1, False)],
)
def test_half_of_all_or_few_routes_are_believed(watched: int, turned: int, *, trips: bool) -> None:
    play = Play(watched)
    assert play.take(0, routes(*range(turned))) is trips
    assert play.over == (0 if trips else turned)


def test_what_degraded_before_it_tripped_stays_degraded_and_what_comes_later_is_held() -> None:
    play = Play(10)
    for number in range(5):
        assert not play.take(number, routes(number))
    assert play.take(5, routes(5))
    play.take(6, routes(6, 7, 8, 9))
    assert play.over == 5
    assert play.at(10_000), "nothing has become better"
    assert play.over == 5


def test_turns_that_are_a_window_apart_are_not_at_once() -> None:
    play = Play(10)
    for number in range(10):
        assert not play.take(number * 12.5, routes(number))
    assert play.over == 10


def test_a_return_to_normal_takes_a_turn_back() -> None:
    play = Play(10)
    for number in range(10):
        assert not play.take(number, routes(number))
        assert not play.take(number + 0.5, routes(number, verdict=NORMAL))
    assert play.over == 0


def test_returns_to_normal_are_held_too() -> None:
    play = Play(10)
    play.take(0, routes(9))
    play.take(100, routes(*range(6)))
    play.take(101, routes(9, verdict=NORMAL))
    assert play.counts[RouteKey("shop", "web", "9")] is OVER


def test_it_closes_once_few_enough_are_over_for_a_window_and_what_it_held_counts_then() -> None:
    play = Play(10)
    play.take(0, routes(*range(6)))
    play.take(30, routes(0, 1, 2, verdict=NORMAL))
    assert play.at(89.9)
    assert play.over == 0
    assert not play.at(90)
    assert play.over == 3
    assert not play.take(91, routes(8)), "4 of 10 within the window"


def test_calm_that_is_interrupted_begins_anew() -> None:
    play = Play(10)
    play.take(0, routes(*range(6)))
    play.take(10, routes(0, verdict=NORMAL))
    play.take(60, routes(0))
    assert play.at(1000)
    play.take(1000, routes(0, verdict=NORMAL))
    assert play.at(1059)
    assert not play.at(1060)


def test_a_reset_makes_all_that_was_held_count_and_counts_anew() -> None:
    play = Play(10)
    play.take(0, routes(*range(8)))
    step = reset(play.state)
    assert step.counts == routes(*range(8))
    assert step.state == BreakerState()
    assert reset(step.state).counts == {}
    play.state = step.state
    assert not play.take(1, routes(8, 9))


def test_routes_that_are_gone_are_held_no_more() -> None:
    play = Play(10)
    play.take(0, routes(*range(6)))
    step = forget(play.state, routes(0, 1))
    assert step.state.held == routes(2, 3, 4, 5)
    assert step.counts == routes(0, 1)


def test_verdicts_from_elsewhere_count_whatever_is_held_and_count_for_nothing_else() -> None:
    routes = [RouteKey("shop", "edge", str(number)) for number in range(3)]
    state = BreakerState({routes[0]: 1.0}, 2.0, {routes[1]: Verdict.OVER, routes[2]: Verdict.OVER})
    verdicts = {routes[0]: Verdict.NORMAL, routes[1]: Verdict.OVER}
    assert adopt(state, verdicts) == Step(BreakerState({}, 2.0, {routes[2]: Verdict.OVER}), verdicts)


def test_after_a_restart_what_is_held_still_does_not_count() -> None:
    play = Play(10)
    play.take(0, routes(9))
    play.take(100, routes(*range(6)))
    play.take(101, routes(9, verdict=NORMAL))
    said = {**routes(*range(6)), **routes(9, verdict=NORMAL)}
    assert counting(play.state, said) == {**routes(*range(6), verdict=NORMAL), **routes(9)}


@given(
    st.lists(st.tuples(st.floats(0, 50), st.dictionaries(st.integers(0, 7), st.sampled_from([OVER, NORMAL])))),
    st.integers(1, 8),
)
def test_held_and_counted_together_are_the_newest_verdicts(
    steps: list[tuple[float, dict[int, Verdict]]], watched: int
) -> None:
    """Nothing gets lost: what counts, with what is held on top, is what was said last. While it holds nothing new counts."""
    play, said, now = Play(watched), dict[RouteKey, Verdict](), 0.0
    for pause, verdicts in steps:
        now += pause
        play.at(now)
        changed = {
            route: verdict
            for number, verdict in verdicts.items()
            for route in routes(number)
            if said.get(route, NORMAL) is not verdict
        }
        said |= changed
        was_open, before = play.state.since is not None, dict(play.counts)
        play.take(now, changed)
        assert play.state.since is None or not was_open or play.counts == before
        together = {**play.counts, **play.state.held}
        assert {route: together.get(route, NORMAL) for route in said} == said
        assert all(play.counts.get(route, NORMAL) is not verdict for route, verdict in play.state.held.items())

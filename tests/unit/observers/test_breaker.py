"""The breaker: opens after so many failures in a row, and lets one probe out for each reset."""

from __future__ import annotations

import pytest

from observers.breaker import Breaker


class Clock:
    """A monotonic clock that the test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("circuitbreaker.monotonic", clock)
    return clock


def fail(breaker: Breaker, times: int) -> None:
    for _ in range(times):
        assert breaker.admits()
        breaker.failed()


def test_failures_in_a_row_open_it(clock: Clock) -> None:
    breaker = Breaker(3, 30.0)
    fail(breaker, 2)
    assert breaker.admits()
    breaker.succeeded()
    fail(breaker, 2)
    assert breaker.state == "closed"
    fail(breaker, 1)
    assert breaker.state == "open"
    assert not breaker.admits()


def test_one_probe_for_each_reset(clock: Clock) -> None:
    breaker = Breaker(1, 30.0)
    fail(breaker, 1)
    clock.now += 29.9
    assert not breaker.admits()
    clock.now += 0.1
    assert breaker.state == "half_open"
    assert breaker.admits()
    assert breaker.state == "half_open"
    assert not breaker.admits(), "the probe is out"
    breaker.failed()
    assert breaker.state == "open"
    clock.now += 29.9
    assert not breaker.admits()
    clock.now += 0.1
    assert breaker.admits()
    breaker.succeeded()
    assert breaker.state == "closed"
    assert breaker.admits()


def test_a_probe_that_was_given_up_may_be_made_again(clock: Clock) -> None:
    breaker = Breaker(1, 0.5)
    fail(breaker, 1)
    clock.now += 0.5
    assert breaker.admits()
    breaker.gave_up()
    assert breaker.admits()


def test_reset_below_a_second_is_kept(clock: Clock) -> None:
    breaker = Breaker(1, 0.2)
    fail(breaker, 1)
    clock.now += 0.19
    assert not breaker.admits()
    clock.now += 0.02
    assert breaker.admits()

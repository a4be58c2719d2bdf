"""The pace of requests: a burst, then so many a second."""

from __future__ import annotations

from hypothesis import given, strategies as st

from xds_server.stream.pace import BURST, Pace


@given(rate=st.integers(1, 1000), gaps=st.lists(st.floats(0, 5), max_size=50))
def test_never_more_than_the_burst_and_the_rate(rate: int, gaps: list[float]) -> None:
    pace, now, taken = Pace(rate, 0.0), 0.0, 0
    for gap in gaps:
        now += gap
        while pace.take(now):
            taken += 1
        assert taken <= rate * (BURST + now) + 1e-6


@given(rate=st.integers(1, 1000), seconds=st.integers(1, 100))
def test_who_keeps_to_the_rate_is_never_stopped(rate: int, seconds: int) -> None:
    pace = Pace(rate, 0.0)
    assert all(pace.take(number / rate) for number in range(min(rate * seconds, 5000)))

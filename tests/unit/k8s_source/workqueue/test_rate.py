"""Back-off and bucket: what they promise for any sequence of calls."""

from __future__ import annotations

from hypothesis import given, strategies as st

from k8s_source.workqueue.rate import Backoff, Bucket


def test_the_defaults_are_client_gos() -> None:
    backoff = Backoff(jitter=0)
    assert [backoff.delay(failures) for failures in (0, 1, 2, 10)] == [0.005, 0.01, 0.02, 5.12]
    assert backoff.delay(18) == 1000 == backoff.delay(100_000)


@given(failures=st.integers(0, 10_000), chance=st.floats(0, 1), jitter=st.floats(0, 1))
def test_jitter_only_shortens(failures: int, chance: float, jitter: float) -> None:
    full = Backoff(jitter=0).delay(failures)
    assert full * (1 - jitter) * 0.999 <= Backoff(jitter=jitter, chance=lambda: chance).delay(failures) <= full


def test_keys_that_failed_together_do_not_come_back_together() -> None:
    backoff = Backoff()
    assert len({backoff.delay(5) for _ in range(100)}) > 50


def test_a_bucket_lets_a_burst_pass_and_then_its_rate() -> None:
    bucket = Bucket(rate=10, burst=100)
    delays = [bucket.reserve(50.0) for _ in range(120)]
    assert delays[:100] == [0] * 100
    assert [round(each, 3) for each in delays[100:103]] == [0.1, 0.2, 0.3]


@given(st.lists(st.floats(0, 5), min_size=1, max_size=200), st.floats(0.5, 50), st.integers(1, 20))
def test_no_window_sees_more_than_burst_and_rate_allow(pauses: list[float], rate: float, burst: int) -> None:
    bucket, now, passes = Bucket(rate, burst), 0.0, []
    for pause in pauses:
        now += pause
        passes.append(now + bucket.reserve(now))
    for first, begin in enumerate(passes):
        for last in range(first, len(passes)):
            assert last - first + 1 <= burst + (passes[last] - begin) * rate + 1e-6

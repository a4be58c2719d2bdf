"""Token buckets: all parts together never exceed `maxQps`, none is empty, and all are as exact as Envoy lets them be."""

from __future__ import annotations

from fractions import Fraction

import pytest
from envoy.type.v3.token_bucket_pb2 import TokenBucket
from hypothesis import given, strategies as st

from xds_server.translate.gateway.filters.local_ratelimit import Limit, mark
from xds_server.translate.gateway.filters.token_bucket import token_bucket


def rate_of(bucket: TokenBucket) -> Fraction:
    """As Envoy counts: it reads intervals in whole milliseconds."""
    assert bucket.fill_interval.ToNanoseconds() % 10**6 == 0
    return Fraction(bucket.tokens_per_fill.value * 1000, bucket.fill_interval.ToMilliseconds())


@given(
    st.floats(0.001, 10**7, allow_nan=False),
    st.integers(1, 5000),
    st.integers(1, 4),
)
def test_the_sum_of_all_parts_is_at_most_max_qps(max_qps: float, fleet: int, listeners: int) -> None:
    part = Limit("shop/web/orders", max_qps, listeners).part(fleet)
    bucket = token_bucket(part)
    parts = fleet * listeners
    assert bucket.tokens_per_fill.value >= 1
    assert bucket.max_tokens >= bucket.tokens_per_fill.value
    assert bucket.fill_interval.ToMilliseconds() >= 50
    if part > Fraction(1, 10**6):
        assert Fraction(996, 1000) * Fraction(repr(max_qps)) <= rate_of(bucket) * parts <= Fraction(repr(max_qps))


@given(st.floats(25, 10**6))
def test_a_bucket_holds_at_most_half_a_second_s_worth(rate: float) -> None:
    assert token_bucket(Fraction(rate)).max_tokens <= rate / 2


@pytest.mark.parametrize(
    ("rate", "tokens", "milliseconds", "held"),
    [
        (Fraction(100), 5, 50, 12),
        (Fraction(25), 2, 80, 3),
        (Fraction(100, 3), 2, 60, 4),
        (Fraction(19), 3, 158, 3),
        (Fraction(1, 10), 1, 10_000, 1),
        (Fraction(0), 1, 10**9, 1),
        (Fraction(10**12), 214748364, 50, 536870911),
    ],
)
def test_table(rate: Fraction, tokens: int, milliseconds: int, held: int) -> None:
    bucket = token_bucket(rate)
    assert (bucket.tokens_per_fill.value, bucket.fill_interval.ToMilliseconds()) == (tokens, milliseconds)
    assert bucket.max_tokens == held


@pytest.mark.parametrize(
    ("max_qps", "limit", "seconds"), [(200, "200, 200;w=1", "1"), (2.5, "2, 2;w=1", "1"), (0.3, "1, 1;w=4", "4")]
)
def test_what_a_client_is_told(max_qps: float, limit: str, seconds: str) -> None:
    assert mark(Limit("r", max_qps, 1)) == {"route": "r", "limit": limit, "retry_after": seconds}

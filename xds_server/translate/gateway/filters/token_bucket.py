"""The token bucket of a rate, as far as Envoy can have it: whole tokens, whole milliseconds, never more than the rate."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

from envoy.type.v3.token_bucket_pb2 import TokenBucket
from google.protobuf.duration_pb2 import Duration
from google.protobuf.wrappers_pb2 import UInt32Value

MOST_TOKENS = 2**32 - 1
"""What a bucket can hold, and what is let through at most in a second."""

_SHORTEST, _LONGEST = 50, 500
"""Milliseconds between fills: Envoy takes no less, and an Envoy that fills by a timer should not take long."""

_SECOND = 1000
"""Milliseconds."""

_CLOSE = 1 / 400
_HELD = Fraction(1, 8)
"""Seconds' worth that a bucket holds. An update of a route configuration fills it, so it is small."""

_LEAST = Fraction(1, 10**6)
"""Requests a second: less is as good as none, and a bucket has to be filled at some time."""


def token_bucket(rate: Fraction) -> TokenBucket:
    """What lets `rate` requests a second through, or up to 0.4 % less; at least one in 11 days."""
    rate = min(max(rate, _LEAST), Fraction(MOST_TOKENS))
    tokens, milliseconds = _fill(rate)
    return TokenBucket(
        max_tokens=max(tokens, int(rate * _HELD)),
        tokens_per_fill=UInt32Value(value=tokens),
        fill_interval=Duration(seconds=milliseconds // _SECOND, nanos=milliseconds % _SECOND * 10**6),
    )


@lru_cache
def _fill(rate: Fraction) -> tuple[int, int]:
    """Tokens and milliseconds: the shortest time that is close to the rate, or the closest of all."""
    best, least = (1, ceil(_SECOND / rate)), 1.0
    if best[1] > _LONGEST:
        return best
    for milliseconds in range(_SHORTEST, _LONGEST + 1):
        wanted = rate.numerator * milliseconds
        tokens, missing = divmod(wanted, rate.denominator * _SECOND)
        if missing / wanted < least:
            best, least = (tokens, milliseconds), missing / wanted
        if least <= _CLOSE:
            break
    return best

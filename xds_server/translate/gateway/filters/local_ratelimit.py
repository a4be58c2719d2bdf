"""Local rate limits: what each Envoy lets through on its own account. `maxQps` of a route becomes one.

The filter stands in every listener and does nothing where a route says nothing, so that a limit that comes or goes
changes routes only.
"""

from __future__ import annotations

from envoy.config.core.v3.base_pb2 import HeaderValue, HeaderValueOption, RuntimeFractionalPercent
from envoy.extensions.filters.http.local_ratelimit.v3.local_rate_limit_pb2 import LocalRateLimit
from envoy.extensions.filters.network.http_connection_manager.v3.http_connection_manager_pb2 import HttpFilter
from envoy.type.v3.percent_pb2 import FractionalPercent
from envoy.type.v3.token_bucket_pb2 import TokenBucket
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.wrappers_pb2 import UInt32Value

NAME = "envoy.filters.http.local_ratelimit"

_PREFIX = "max_qps"
_MOST_TOKENS = 2**32 - 1
_SHORTEST = 0.05
"""Seconds between fills: Envoy takes no less."""

_LEAST = 1e-6
"""Requests a second: less is as good as none, and a bucket has to be filled at some time."""

_ALL = FractionalPercent(numerator=100, denominator=FractionalPercent.HUNDRED)


def in_listener() -> HttpFilter:
    """The filter, which limits nothing by itself."""
    made = HttpFilter(name=NAME)
    made.typed_config.Pack(LocalRateLimit(stat_prefix=_PREFIX), deterministic=True)
    return made


def in_route(max_qps: float, share: float = 1.0, reason: HeaderValue | None = None) -> Any:
    """The limit of one route: `share` of `max_qps` requests a second; more are answered 429."""
    limit = LocalRateLimit(
        stat_prefix=_PREFIX,
        token_bucket=_bucket(max_qps * share),
        filter_enabled=RuntimeFractionalPercent(default_value=_ALL),
        filter_enforced=RuntimeFractionalPercent(default_value=_ALL),
    )
    if reason is not None:
        limit.response_headers_to_add.append(HeaderValueOption(header=reason))
    packed = Any()
    packed.Pack(limit, deterministic=True)
    return packed


def _bucket(rate: float) -> TokenBucket:
    """What is filled at `rate` tokens a second and holds about a second's worth, but one token at least."""
    rate = max(rate, _LEAST)
    tokens = min(max(int(rate), 1), _MOST_TOKENS)
    interval = max(tokens / rate, _SHORTEST)
    seconds = int(interval)
    fill = Duration(seconds=seconds, nanos=int((interval - seconds) * 1e9))
    return TokenBucket(max_tokens=tokens, tokens_per_fill=UInt32Value(value=tokens), fill_interval=fill)

"""Local rate limits: `maxQps` of a route, of which each Envoy lets its part through.

The filter stands in every listener and does nothing where a route configuration says nothing, so that a limit that comes
or goes changes route configurations only. Limits stand there and not in routes: those of each virtual host would have a
bucket of their own (docs/design/012-quota.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from envoy.config.core.v3.base_pb2 import HeaderValue, HeaderValueOption, RuntimeFractionalPercent
from envoy.config.route.v3.route_components_pb2 import RateLimit
from envoy.extensions.common.ratelimit.v3.ratelimit_pb2 import LocalRateLimitDescriptor
from envoy.extensions.filters.http.local_ratelimit.v3.local_rate_limit_pb2 import LocalRateLimit
from envoy.extensions.filters.network.http_connection_manager.v3.http_connection_manager_pb2 import HttpFilter
from envoy.type.v3.percent_pb2 import FractionalPercent
from google.protobuf.any_pb2 import Any

from xds_server.translate.gateway.filters.token_bucket import MOST_TOKENS, token_bucket
from xds_server.translate.gateway.names import METADATA, REASON_HEADER

NAME = "envoy.filters.http.local_ratelimit"

MARK = "max_qps"
"""Where in its metadata a limited route has its name and what a client is told of the limit."""

_REASON = "max-qps"
_PREFIX = "max_qps"
_ENTRY = "route"
_ALL = RuntimeFractionalPercent(default_value=FractionalPercent(numerator=100, denominator=FractionalPercent.HUNDRED))
_HEADERS = {
    REASON_HEADER: _REASON,
    "retry-after": f"%METADATA(ROUTE:{METADATA}:{MARK}:retry_after)%",
    "x-ratelimit-limit": f"%METADATA(ROUTE:{METADATA}:{MARK}:limit)%",
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": f"%METADATA(ROUTE:{METADATA}:{MARK}:retry_after)%",
}
"""Of a 429; those of RateLimit headers as in draft 03."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A route by name, with its `maxQps` for the whole fleet and on how many listeners it is served."""

    route: str
    max_qps: float
    listeners: int

    def part(self, fleet: int) -> Fraction:
        """The requests a second that one of so many Envoys lets through on one listener."""
        return Fraction(repr(self.max_qps)) / (fleet * self.listeners)


def in_listener() -> HttpFilter:
    """The filter, which limits nothing by itself."""
    made = HttpFilter(name=NAME)
    made.typed_config.Pack(LocalRateLimit(stat_prefix=_PREFIX), deterministic=True)
    return made


def mark(limit: Limit) -> Mapping[str, str]:
    """The metadata of a limited route, under `MARK`. It tells of the fleet, so it stays when the fleet grows."""
    seconds = 1 if limit.max_qps >= 1 else ceil(1 / Fraction(repr(limit.max_qps)))
    quota = int(limit.max_qps) or 1
    return {"route": limit.route, "limit": f"{quota}, {quota};w={seconds}", "retry_after": str(seconds)}


def in_route_configuration(limits: Iterable[Limit], fleet: int) -> Any:
    """The limits of all routes of a route configuration, for each of so many Envoys; more is answered 429."""
    made = LocalRateLimit(
        stat_prefix=_PREFIX,
        token_bucket=token_bucket(Fraction(MOST_TOKENS)),
        filter_enabled=_ALL,
        filter_enforced=_ALL,
        rate_limits=[_by_mark()],
        rate_limited_as_resource_exhausted=True,
    )
    made.always_consume_default_token_bucket.value = False
    for key, value in _HEADERS.items():
        made.response_headers_to_add.append(HeaderValueOption(header=HeaderValue(key=key, value=value)))
    for limit in limits:
        descriptor = LocalRateLimitDescriptor(token_bucket=token_bucket(limit.part(fleet)))
        descriptor.entries.add(key=_ENTRY, value=limit.route)
        made.descriptors.append(descriptor)
    packed = Any()
    packed.Pack(made, deterministic=True)
    return packed


def _by_mark() -> RateLimit:
    """Takes the bucket that the route's mark names; a route without one takes of the one for all, which is never empty."""
    made = RateLimit()
    action = made.actions.add().metadata
    action.descriptor_key = _ENTRY
    action.source = RateLimit.Action.MetaData.ROUTE_ENTRY
    action.skip_if_absent = True
    action.metadata_key.key = METADATA
    for step in (MARK, "route"):
        action.metadata_key.path.add(key=step)
    return made

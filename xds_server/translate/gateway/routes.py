"""From a route and its decision to a route of Envoy, and the order of routes that share a host."""

from __future__ import annotations

from dataclasses import dataclass

from envoy.config.core.v3.base_pb2 import HeaderValue, HeaderValueOption
from envoy.config.route.v3.route_components_pb2 import RetryPolicy, Route as EnvoyRoute
from envoy.extensions.retry.host.previous_hosts.v3.previous_hosts_pb2 import PreviousHostsPredicate
from google.protobuf.duration_pb2 import Duration
from google.protobuf.wrappers_pb2 import UInt32Value

from xds_server.ir.decision import Decision
from xds_server.ir.gateway import Path, PathKind, Route
from xds_server.ir.refs import NO_NAMES
from xds_server.translate.gateway.filters.local_ratelimit import MARK, Limit, mark
from xds_server.translate.gateway.names import METADATA, REASON_HEADER, cluster_name

REJECTED = 503

_RETRY_ON = "connect-failure,refused-stream,reset-before-request,unavailable,retriable-status-codes"
_RETRIABLE = 503
_PREVIOUS_HOSTS = "envoy.retry_host_predicates.previous_hosts"
_HOST_ATTEMPTS = 3
"""How often another endpoint is looked for before one that was tried already is taken."""

_KINDS = {PathKind.EXACT: 0, PathKind.REGEX: 1, PathKind.PREFIX: 2}

Precedence = tuple[int, int, str]
"""What sorts routes that share a host: Envoy takes the first that matches."""


@dataclass(frozen=True, slots=True)
class RoutePart:
    """A route as the bytes of Envoy's `Route`, the cluster that it refers to, and its limit, which stands elsewhere."""

    precedence: Precedence
    body: bytes
    clusters: frozenset[str]
    limit: Limit | None = None


def precedence(path: Path) -> Precedence:
    """Whole paths first, then expressions, then prefixes; the longest first, so that the order in a spec says nothing."""
    value = _prefix(path.value) if path.kind is PathKind.PREFIX else path.value
    return (_KINDS[path.kind], 0 if path.kind is PathKind.EXACT else -len(value), value)


def route_part(route: Route, decision: Decision, listeners: int = 1) -> RoutePart:
    """The route as decided, served on so many listeners. Its metadata has the decision, for access logs.

    `%METADATA(ROUTE:tidegate.dev:decision)%` is how these name it.
    """
    limit = None
    made = EnvoyRoute(name=str(route.key))
    _match(made, route.path)
    made.metadata.filter_metadata[METADATA].update({"decision": str(decision.choice)})
    if decision.backend is None:
        _reject(made, decision.reason)
    else:
        _send(made, route, cluster_name(decision.backend))
        if route.max_qps is not None:
            limit = Limit(str(route.key), route.max_qps, listeners)
            made.metadata.filter_metadata[METADATA].update({MARK: dict(mark(limit))})
    clusters = NO_NAMES if decision.backend is None else frozenset({cluster_name(decision.backend)})
    return RoutePart(precedence(route.path), made.SerializeToString(deterministic=True), clusters, limit)


def _match(made: EnvoyRoute, path: Path) -> None:
    if path.kind is PathKind.EXACT:
        made.match.path = path.value
    elif path.kind is PathKind.REGEX:
        made.match.safe_regex.regex = path.value
    elif _prefix(path.value) == "/":
        made.match.prefix = "/"
    else:
        made.match.path_separated_prefix = _prefix(path.value)


def _prefix(value: str) -> str:
    """A prefix by segments: slashes at its end say nothing, and Envoy takes none there."""
    return value.rstrip("/") or "/"


def _reject(made: EnvoyRoute, reason: str) -> None:
    """Nothing but the reason: whoever asks may be anybody, and the status tells the rest."""
    made.direct_response.status = REJECTED
    made.direct_response.body.inline_string = reason
    header = HeaderValue(key=REASON_HEADER, value=reason)
    made.response_headers_to_add.append(HeaderValueOption(header=header))


def _send(made: EnvoyRoute, route: Route, cluster: str) -> None:
    made.route.cluster = cluster
    if route.timeout is not None:
        made.route.timeout.CopyFrom(_duration(route.timeout))
    if route.retries:
        made.route.retry_policy.CopyFrom(_retry_policy(route.retries))


def _retry_policy(retries: int) -> RetryPolicy:
    """Retries of what no backend has begun to handle, and of a backend's 503, at another endpoint where there is one."""
    policy = RetryPolicy(
        retry_on=_RETRY_ON,
        num_retries=UInt32Value(value=retries),
        retriable_status_codes=[_RETRIABLE],
        host_selection_retry_max_attempts=_HOST_ATTEMPTS,
    )
    predicate = policy.retry_host_predicate.add(name=_PREVIOUS_HOSTS)
    predicate.typed_config.Pack(PreviousHostsPredicate(), deterministic=True)
    return policy


def _duration(seconds: float) -> Duration:
    """Zero stands for no limit, as with Envoy."""
    whole = int(seconds)
    return Duration(seconds=whole, nanos=int(round((seconds - whole) * 1e9, 0)))

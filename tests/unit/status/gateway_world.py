"""Reports, readings and deliveries to join, with what a test does not care about filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xds_server.ir.backend import BackendKey
from xds_server.ir.decision import Choice, Decision, GatewayReport, RouteReport
from xds_server.ir.facts import LagQuery, Reading, RouteKey, Rule, Verdict, Watch
from xds_server.ir.gateway import GatewayKey, Policy
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.status.gateways import Readings

NOW = 1_700_000_000.0
KEY = GatewayKey("shop", "edge")
ORIGIN = Origin("files", "edge.yaml", 1, 1, "gateway.tidegate.dev/v1alpha1", "DynamicGateway", "shop", "edge", 3)
PRIMARY, FALLBACK = BackendKey("shop", "orders", 80), BackendKey("shop", "orders-lite", 80)
WATCH = Watch(LagQuery("default", "orders"), Rule(1000, 800))

HEALTHY = Decision(Choice.PRIMARY, PRIMARY, "healthy")
DEGRADED = Decision(Choice.DEGRADED, FALLBACK, "over-threshold")
STUCK = Decision(Choice.PRIMARY, PRIMARY, "degrade-unhealthy")
FAIL_OPEN = Decision(Choice.FAIL_OPEN, PRIMARY, "no-healthy-backend")
REJECTED = Decision(Choice.REJECTED, None, "no-healthy-backend")


def route_key(name: str) -> RouteKey:
    return RouteKey("shop", "edge", name)


def report(
    decisions: Mapping[str, Decision] | None = None, watch: Watch | None = WATCH, **more: object
) -> GatewayReport:
    """A gateway's report: a route for each decision."""
    found = {"orders": HEALTHY} if decisions is None else decisions
    routes = tuple(RouteReport(route_key(name), decision, watch) for name, decision in found.items())
    given: dict[str, object] = {"policy": Policy(), "applied": "f00d", **more}
    return GatewayReport(KEY, "default", 3, ORIGIN, routes=routes, **given)  # type: ignore[arg-type]


def problem(reason: str, message: str, field: str = "") -> Problem:
    return Problem(ORIGIN, reason, message, field)


def known(value: float, watch: Watch = WATCH, state: str = "ok") -> Readings:
    """Every route's value is this."""
    reading = Reading(watch, value, None, value, NOW - 2, state, Verdict.NORMAL)
    return lambda _route: reading


def unknown(why: str, last: float | None = None, ago: float = 0.0, watch: Watch = WATCH) -> Readings:
    """No route's value is known, since so many seconds if it ever was."""
    sampled = NOW - ago if last is not None else 0.0
    reading = Reading(watch, None, why, last, sampled, "timeout", Verdict.NORMAL)
    return lambda _route: reading


def by_route(readings: Mapping[str, Readings]) -> Callable[[RouteKey], Reading | None]:
    """Another for each route, none where none is given."""
    return lambda route: readings[route.route](route) if route.route in readings else None

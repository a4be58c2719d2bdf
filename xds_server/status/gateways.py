"""The status of a gateway: derivation's report, the observers' readings and the nodes' answers, joined. Pure.

docs/gateway-status.md tells users of every word here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from xds_server.ir.decision import Choice, GatewayReport, RouteReport
from xds_server.ir.facts import LagQuery, Reading, RouteKey
from xds_server.ir.gateway_status import (
    ACCEPTED,
    DEGRADED,
    PROGRAMMED,
    READY,
    RESOLVED,
    Condition,
    GatewayStatus,
    Phase,
    Status,
)
from xds_server.ir.problem import Problem
from xds_server.snapshot.snapshot import Behind, LeftOut
from xds_server.status.conditions import told, word
from xds_server.status.delivery import Delivery
from xds_server.status.serving import NOT_IN_FORCE, is_kept_back, is_served
from xds_server.status.stamps import stamp

Readings = Callable[[RouteKey], Reading | None]
"""What is known of the value that a route watches; None where it watches none."""

_QUERY = 120
"""Characters of a Prometheus query that a message repeats; the route's `watches` has all of it."""
_WAITING = ("NotPublished", "NoNodes", "Pending", "Held", "ReadOnly", "Frozen")
"""The reasons of a gateway that is not programmed, and with which nothing is wrong."""

OK = "ok"
"""The state of an observation of which there is nothing more to say."""

_UNHEALTHY = (Choice.FAIL_OPEN, Choice.REJECTED)


def status_of(report: GatewayReport, readings: Readings, delivery: Delivery) -> GatewayStatus:
    """Join what is known of a gateway.

    Messages have no ages and no lag in them: who writes them down need not do so again while nothing happens.
    """
    own = [left_out for gateway, left_out in delivery.left_out if gateway == report.key]
    conditions = (
        _problems(ACCEPTED, report.invalid, "the object is valid"),
        _problems(RESOLVED, (*report.unresolved, *report.outdated), "all that it names is there"),
        _told_as_served(_degraded(report, readings), report, delivery),
        _programmed(report, delivery, own),
    )
    ready = _ready(report, conditions)
    return GatewayStatus(
        report.generation,
        _phase(report, conditions, delivery),
        (*conditions, ready),
        _lags(report, readings),
        report.applied,
        delivery.acked,
        _last_error(report, delivery, own),
        sum(1 for _ in _unknown(report, readings)),
    )


def _problems(kind: str, problems: tuple[Problem, ...], fine: str) -> Condition:
    if not problems:
        return Condition(kind, Status.TRUE, kind, fine)
    messages = [f"{each.field}: {each.message}" if each.field else each.message for each in problems]
    return Condition(kind, Status.FALSE, problems[0].reason, told(messages))


def _told_as_served(degraded: Condition, report: GatewayReport, delivery: Delivery) -> Condition:
    """The condition with what of its routes is not in force."""
    lost = [each for each in report.routes if not is_served(each, delivery)]
    if not lost:
        return degraded
    if len(lost) == len(report.routes):
        return degraded._replace(message=f"{NOT_IN_FORCE}: {degraded.message}")
    names = [each.key.route for each in lost]
    return degraded._replace(message=f"{degraded.message}; {NOT_IN_FORCE}: {told(names)}")


def _degraded(report: GatewayReport, readings: Readings) -> Condition:
    found = _choices(report, readings)
    doubts = list(_doubts(report, readings))
    return found._replace(message=f"{found.message}; {told(doubts)}") if doubts else found


def _doubts(report: GatewayReport, readings: Readings) -> Iterator[str]:
    """A sentence for each route of whose value, which is known, the observer has something to say."""
    for route in report.routes:
        reading = readings(route.key)
        if reading is not None and reading.unknown is None and reading.state != OK:
            yield f"route {route.key.route}: {_subject(reading)} is known, but: {reading.state}"


def _choices(report: GatewayReport, readings: Readings) -> Condition:
    """Unknown wins: what can't be told now may be worse than what is told."""
    held = list(_held(report, readings))
    if held:
        return Condition(DEGRADED, Status.UNKNOWN, "BreakerOpen", told(held))
    unknown = list(_unknown(report, readings))
    elsewhere = [each for each in report.routes if each.decision.choice is not Choice.PRIMARY]
    stuck = [each for each in report.routes if each not in elsewhere and each.decision.reason != "healthy"]
    if unknown:
        also = f"; not at their primary backends: {told([_where(each) for each in elsewhere])}" if elsewhere else ""
        return Condition(DEGRADED, Status.UNKNOWN, unknown[0].reason, told([each.sentence for each in unknown]) + also)
    if elsewhere:
        reason = word(elsewhere[0].decision.reason)
        return Condition(DEGRADED, Status.TRUE, reason, told([_where(each) for each in elsewhere]))
    if stuck:
        return Condition(DEGRADED, Status.FALSE, word(stuck[0].decision.reason), told([_where(each) for each in stuck]))
    return Condition(DEGRADED, Status.FALSE, "AsDeclared", "every route leads to its primary backend")


class _Unknown(NamedTuple):
    """A route whose value is unknown: why, since when, and what is held meanwhile."""

    reason: str
    sentence: str


def _unknown(report: GatewayReport, readings: Readings) -> Iterator[_Unknown]:
    for route in report.routes:
        reading = readings(route.key)
        if reading is None or reading.unknown is None:
            continue
        last = f"last known at {stamp(reading.sampled)}: {_number(reading.last)}" if reading.sampled else "never known"
        held = f"it stays {route.decision.choice}"
        yield _Unknown(
            "LagUnknown" if isinstance(reading.watch.query, LagQuery) else "ValueUnknown",
            f"route {route.key.route}: {_subject(reading)} is unknown: {reading.unknown} ({last}); {held}",
        )


def _held(report: GatewayReport, readings: Readings) -> Iterator[str]:
    """A sentence for each route whose verdict does not count, since too many routes would degrade at once."""
    for route in report.routes:
        reading = readings(route.key)
        if reading is not None and reading.held:
            yield (
                f"route {route.key.route}: {_subject(reading)} is {reading.verdict}, but too many routes would degrade at"
                f" once: decisions are held, it stays {route.decision.choice}"
            )


def _where(route: RouteReport) -> str:
    """A route's decision in words."""
    decision = route.decision
    leads = f", leads to {decision.backend}" if decision.backend is not None else ""
    return f"route {route.key.route}: {decision.choice} ({decision.reason}){leads}"


def _not_programmed(reason: str, message: str) -> Condition:
    return Condition(PROGRAMMED, Status.FALSE, reason, message)


def _programmed(report: GatewayReport, delivery: Delivery, own: list[LeftOut]) -> Condition:
    kept_back = _kept_back(report, delivery)
    if kept_back is not None:
        return kept_back
    nodes, short = delivery.nodes, delivery.version[:8]
    if own:
        messages = [f"{each.name} is not served as declared: {each.message}" for each in own]
        return _not_programmed(own[0].reason, told(messages))
    if not report.policy.require_envoy_ack:
        return Condition(PROGRAMMED, Status.TRUE, "Published", f"version {short} is served; requireEnvoyAck is false")
    if delivery.refusal:
        message = f"Envoy refuses something of version {short} of group {report.group}: {delivery.refusal}"
        return _not_programmed("Refused", message)
    if nodes.acked < nodes.connected:
        return _not_programmed("Pending", _pending(delivery))
    everybody = f"{nodes.connected} Envoys{_on_replicas(delivery)}"
    if delivery.unheard:
        also = f"; all {everybody} have accepted version {short}" if nodes.connected else ""
        message = f"it is not known what Envoys have of version {short}: {_silent(delivery)}{also}"
        return Condition(PROGRAMMED, Status.UNKNOWN, "ReplicaUnknown", message)
    if not nodes.connected:
        return _not_programmed("NoNodes", f"no Envoy of group {report.group} is connected")
    return Condition(PROGRAMMED, Status.TRUE, PROGRAMMED, f"all {everybody} have accepted version {short}")


def _pending(delivery: Delivery) -> str:
    nodes = delivery.nodes
    missing, where = nodes.connected - nodes.acked, _on_replicas(delivery)
    parts = [
        f"{missing} of {nodes.connected} Envoys{where} have not accepted all of version {delivery.version[:8]} yet"
    ]
    if delivery.lagging:
        parts.append(f"of another version are replicas {', '.join(delivery.lagging)}")
    if delivery.unheard:
        parts.append(_silent(delivery))
    return "; ".join(parts)


def _on_replicas(delivery: Delivery) -> str:
    return f" on {delivery.replicas} replicas" if delivery.replicas > 1 else ""


def _silent(delivery: Delivery) -> str:
    """Which replicas are not heard, and why."""
    return told([f"replica {name}: {problem}" if name else problem for name, problem in delivery.unheard])


def _kept_back(report: GatewayReport, delivery: Delivery) -> Condition | None:
    """That what is declared is not what is served, because somebody wants it so, or since nothing is served yet."""
    if not delivery.version:
        return _not_programmed("NotPublished", f"group {report.group} is served nothing yet")
    if delivery.held:
        return _not_programmed("Held", f"group {report.group} is held {delivery.held}")
    if delivery.behind is not None:
        return _not_programmed(delivery.behind.reason, _behind(report.group, delivery.behind))
    if report.held:
        routes = ", ".join(report.held)
        return _not_programmed(
            "Frozen", f"what is declared of these routes is not served, since they are frozen: {routes}"
        )
    return None


def _behind(group: str, behind: Behind) -> str:
    how = "nothing is published" if behind.reason == "ReadOnly" else "it is frozen"
    return f"group {group} is not served version {behind.version[:8]}, which is declared: {how} ({behind.message})"


def _ready(report: GatewayReport, conditions: tuple[Condition, ...]) -> Condition:
    for each in conditions:
        if each.type != DEGRADED and each.status is not Status.TRUE:
            return Condition(READY, Status.FALSE, f"Not{each.type}", each.message)
    down = [each for each in report.routes if each.decision.choice in _UNHEALTHY]
    if down:
        return Condition(READY, Status.FALSE, word(down[0].decision.reason), told([_where(each) for each in down]))
    return Condition(READY, Status.TRUE, READY, "every route leads to a healthy backend")


def _phase(report: GatewayReport, conditions: tuple[Condition, ...], delivery: Delivery) -> Phase:
    by_type = {each.type: each for each in conditions}
    programmed = by_type[PROGRAMMED]
    is_whole = by_type[ACCEPTED].status is Status.TRUE and by_type[RESOLVED].status is Status.TRUE
    if is_kept_back(report, delivery):
        return Phase.PENDING if is_whole else Phase.DEGRADED
    serves = [each for each in report.routes if each.is_open and each.decision.choice is not Choice.REJECTED]
    if not serves and (report.routes or not is_whole):
        return Phase.FAILED
    if programmed.status is Status.FALSE and programmed.reason not in _WAITING:
        return Phase.FAILED
    if not is_whole or any(each.decision.choice is not Choice.PRIMARY for each in report.routes):
        return Phase.DEGRADED
    return Phase.READY if programmed.status is Status.TRUE else Phase.PENDING


def _lags(report: GatewayReport, readings: Readings) -> dict[str, float | None]:
    """The lag of each consumer group: where several routes count it in different ways, the greatest."""
    lags: dict[str, float | None] = {}
    for route in report.routes:
        reading = readings(route.key)
        if reading is None or not isinstance(reading.watch.query, LagQuery):
            continue
        group = reading.watch.query.group
        found = [each for each in (lags.get(group), reading.value) if each is not None]
        lags[group] = max(found, default=None)
    return lags


def _last_error(report: GatewayReport, delivery: Delivery, own: list[LeftOut]) -> str:
    for problem in (*report.invalid, *report.unresolved, *report.outdated):
        return f"{problem.field}: {problem.message}" if problem.field else problem.message
    if own:
        return own[0].message
    return delivery.refusal


def _subject(reading: Reading) -> str:
    query = reading.watch.query
    if isinstance(query, LagQuery):
        return f"the lag of group {query.group}"
    line = " ".join(str(query).split())
    return f"the value of {line if len(line) <= _QUERY else f'{line[:_QUERY]}…'}"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(int(value)) if float(value).is_integer() else f"{value:g}"

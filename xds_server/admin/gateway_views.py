"""From what is known of gateways and observers to the shapes of the answers; pure."""

from __future__ import annotations

from xds_server.admin import gateway_shapes, shapes
from xds_server.ir.facts import Observation, Reading
from xds_server.status.gateway_book import ShownGateway, ShownRoute
from xds_server.status.stamps import stamp


def gateway(shown: ShownGateway, now: float) -> gateway_shapes.Gateway:
    """A gateway; `now` is POSIX seconds."""
    report, status = shown.report, shown.status
    conditions = [
        gateway_shapes.Condition(
            each.type,
            each.status.value,
            each.reason,
            each.message,
            status.observed_generation,
            stamp(shown.moved[each.type]),
        )
        for each in status.conditions
    ]
    return gateway_shapes.Gateway(
        report.key.namespace,
        report.key.name,
        report.group,
        report.generation,
        gateway_shapes.GatewayStatus(
            status.observed_generation,
            status.phase.value,
            conditions,
            {group: number(lag) for group, lag in status.kafka_lag.items()},
            status.last_applied_hash,
            status.last_acked_version or None,
            status.last_error or None,
        ),
        [_route(each, now) for each in shown.routes],
    )


def _route(shown: ShownRoute, now: float) -> gateway_shapes.GatewayRoute:
    decision, reading = shown.report.decision, shown.reading
    rule = reading.watch.rule if reading is not None else None
    return gateway_shapes.GatewayRoute(
        name=shown.report.key.route,
        decision=decision.choice.value,
        reason=decision.reason,
        since=stamp(shown.since),
        lag=number(reading.value) if reading is not None else None,
        threshold=number(rule.threshold) if rule is not None else None,
        backend=str(decision.backend) if decision.backend is not None else None,
        unknown=reading.unknown if reading is not None else None,
        last_lag=number(reading.last) if reading is not None else None,
        age_s=_age(reading.sampled, now) if reading is not None else None,
        recover=number(rule.recover) if rule is not None else None,
        watches=reading.watches if reading is not None else None,
        state=reading.state if reading is not None else None,
        verdict=reading.verdict.value if reading is not None else None,
        max_qps=number(shown.report.max_qps),
        share=shown.report.share,
        served=shown.is_served,
        held=reading is not None and reading.held,
    )


def observed(found: Observation, routes: int, now: float) -> gateway_shapes.Observed:
    """What an observer knows of one thing that so many routes watch."""
    return gateway_shapes.Observed(
        found.query.observer,
        str(found.query),
        number(found.value),
        found.unknown,
        stamp(found.sampled) if found.sampled else None,
        _age(found.sampled, now),
        found.state,
        found.breaker,
        routes,
        found.detail,
    )


def observation(reading: Reading) -> shapes.Observation:
    """What a route is decided by: the last value that was known."""
    query = reading.watch.query
    return shapes.Observation(query.observer, str(query), number(reading.last), stamp(reading.sampled))


def number(value: float | None) -> int | float | None:
    """A value as people count: without a fraction where it has none."""
    return int(value) if value is not None and float(value).is_integer() else value


def _age(sampled: float, now: float) -> float | None:
    return round(max(0.0, now - sampled), 3) if sampled else None

"""The status of a gateway, as a table: what is known, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.status.gateway_world import (
    DEGRADED,
    FAIL_OPEN,
    HEALTHY,
    KEY,
    ORIGIN,
    REJECTED,
    STUCK,
    by_route,
    known,
    problem,
    report,
    unknown,
)
from xds_server.ir.decision import Decision, GatewayReport
from xds_server.ir.facts import LagQuery, Rule, ValueQuery, Watch
from xds_server.ir.gateway import GatewayKey, Policy
from xds_server.ir.gateway_status import Condition, GatewayStatus
from xds_server.snapshot.snapshot import Behind, LeftOut
from xds_server.status.conditions import TOLD
from xds_server.status.delivery import Delivery
from xds_server.status.gateways import Readings, status_of
from xds_server.status.serving import is_served
from xds_server.status.tracker import NodeCounts

VERSION = "3f9a0000000000000000000000000000"
EVERYWHERE = Delivery(VERSION, nodes=NodeCounts(2, 2, 0), acked=VERSION)
PUBLISHED = Delivery(VERSION)
SILENT = (("pod-1", "it does not answer"),)
LEFT_OUT = LeftOut("x", "http-8080", "RefusedByEnvoy", "Envoy refuses it: no", (ORIGIN,))

QUERIED = Watch(ValueQuery("sum(depth)\n" + " or vector(0)" * 100), Rule(1000, 800))


def status(
    found: GatewayReport | None = None, readings: Readings | None = None, delivery: Delivery = EVERYWHERE
) -> GatewayStatus:
    return status_of(found or report(), readings or known(5), delivery)


def condition(of: GatewayStatus, kind: str) -> Condition:
    return next(each for each in of.conditions if each.type == kind)


def lines(of: GatewayStatus) -> dict[str, str]:
    return {each.type: f"{each.status} {each.reason}" for each in of.conditions}


FINE = {
    "Accepted": "True Accepted",
    "Resolved": "True Resolved",
    "Degraded": "False AsDeclared",
    "Programmed": "True Programmed",
    "Ready": "True Ready",
}
INVALID: dict[str, Any] = {"invalid": (problem("DuplicateRoute", "two routes are named a", "spec.routes[1].name"),)}
MISSING: dict[str, Any] = {"unresolved": (problem("ServiceNotFound", "there is no Service shop/orders-lite"),)}
OUTDATED: dict[str, Any] = {"outdated": (problem("Mismatch", "Secret/shop/tls: …; its last good form is in force"),)}
NO_SECRET: dict[str, Any] = {"unresolved": (problem("SecretNotFound", "there is no certificate in Secret shop/tls"),)}
HELD = "by op at version 1 (seq 1): why"
READ_ONLY = Behind(VERSION, "ReadOnly", "by op: why")
AS_IT_WAS = replace(DEGRADED, reason="frozen")


def closed(found: GatewayReport, *names: str) -> GatewayReport:
    """A gateway of which these routes, or all, are on no listener that takes connections."""
    routes = tuple(replace(each, is_open=bool(names) and each.key.route not in names) for each in found.routes)
    return replace(found, routes=routes)


LENIENT = Policy(require_envoy_ack=False)
TABLE: dict[str, tuple[GatewayStatus, str, dict[str, str]]] = {
    "all is well": (status(), "Ready", {}),
    "degraded": (status(report({"a": DEGRADED})), "Degraded", {"Degraded": "True OverThreshold"}),
    "over, and the other backend is no better": (
        status(report({"a": STUCK})),
        "Ready",
        {"Degraded": "False DegradeUnhealthy"},
    ),
    "fail open": (
        status(report({"a": FAIL_OPEN})),
        "Degraded",
        {"Degraded": "True NoHealthyBackend", "Ready": "False NoHealthyBackend"},
    ),
    "one of two is rejected": (
        status(report({"a": HEALTHY, "b": REJECTED})),
        "Degraded",
        {"Degraded": "True NoHealthyBackend", "Ready": "False NoHealthyBackend"},
    ),
    "all are rejected": (
        status(report({"a": REJECTED, "b": REJECTED})),
        "Failed",
        {"Degraded": "True NoHealthyBackend", "Ready": "False NoHealthyBackend"},
    ),
    "unknown lag": (status(readings=unknown("no broker answers")), "Ready", {"Degraded": "Unknown LagUnknown"}),
    "unknown lag of a degraded route": (
        status(report({"a": DEGRADED}), unknown("no broker answers", 5000, 40)),
        "Degraded",
        {"Degraded": "Unknown LagUnknown"},
    ),
    "unknown value of a query": (
        status(readings=unknown("the value is NaN", watch=QUERIED)),
        "Ready",
        {"Degraded": "Unknown ValueUnknown"},
    ),
    "a part is not valid": (
        status(report(**INVALID)),
        "Degraded",
        {"Accepted": "False DuplicateRoute", "Ready": "False NotAccepted"},
    ),
    "what it depends on is in force in an older form": (
        status(report(**OUTDATED)),
        "Degraded",
        {"Resolved": "False Mismatch", "Ready": "False NotResolved"},
    ),
    "nothing of it is valid": (
        status(report({}, **INVALID)),
        "Failed",
        {"Accepted": "False DuplicateRoute", "Ready": "False NotAccepted"},
    ),
    "a service is missing": (
        status(report(**MISSING)),
        "Degraded",
        {"Resolved": "False ServiceNotFound", "Ready": "False NotResolved"},
    ),
    "no routes, and none meant": (status(report({})), "Ready", {}),
    "nothing is served yet": (
        status(delivery=Delivery()),
        "Pending",
        {"Programmed": "False NotPublished", "Ready": "False NotProgrammed"},
    ),
    "no node": (
        status(delivery=PUBLISHED),
        "Pending",
        {"Programmed": "False NoNodes", "Ready": "False NotProgrammed"},
    ),
    "not every node has it": (
        status(delivery=replace(EVERYWHERE, nodes=NodeCounts(3, 1, 0))),
        "Pending",
        {"Programmed": "False Pending", "Ready": "False NotProgrammed"},
    ),
    "another replica is not heard": (
        status(delivery=replace(EVERYWHERE, unheard=SILENT)),
        "Pending",
        {"Programmed": "Unknown ReplicaUnknown", "Ready": "False NotProgrammed"},
    ),
    "another replica is not heard, and nobody is here": (
        status(delivery=replace(PUBLISHED, unheard=SILENT)),
        "Pending",
        {"Programmed": "Unknown ReplicaUnknown", "Ready": "False NotProgrammed"},
    ),
    "another replica is not heard, and not every node has it": (
        status(delivery=replace(EVERYWHERE, nodes=NodeCounts(3, 1, 0), unheard=SILENT)),
        "Pending",
        {"Programmed": "False Pending", "Ready": "False NotProgrammed"},
    ),
    "a node refuses": (
        status(delivery=replace(EVERYWHERE, nodes=NodeCounts(3, 2, 1), refusal="n3: no such filter")),
        "Failed",
        {"Programmed": "False Refused", "Ready": "False NotProgrammed"},
    ),
    "published is enough": (
        status(report(policy=LENIENT), delivery=PUBLISHED),
        "Ready",
        {"Programmed": "True Published"},
    ),
    "published is enough, and nothing is": (
        status(report(policy=LENIENT), delivery=Delivery()),
        "Pending",
        {"Programmed": "False NotPublished", "Ready": "False NotProgrammed"},
    ),
    "held": (
        status(report(policy=LENIENT), delivery=replace(EVERYWHERE, held="by op at version 1 (seq 1): why")),
        "Pending",
        {"Programmed": "False Held", "Ready": "False NotProgrammed"},
    ),
    "held, and another would be degraded": (
        status(report({"a": DEGRADED}), delivery=replace(EVERYWHERE, held=HELD)),
        "Pending",
        {"Degraded": "True OverThreshold", "Programmed": "False Held", "Ready": "False NotProgrammed"},
    ),
    "held, and all would be rejected": (
        status(report({"a": REJECTED}), delivery=replace(EVERYWHERE, held=HELD)),
        "Pending",
        {"Degraded": "True NoHealthyBackend", "Programmed": "False Held", "Ready": "False NotProgrammed"},
    ),
    "held, and not valid": (
        status(report(**INVALID), delivery=replace(EVERYWHERE, held=HELD)),
        "Degraded",
        {"Accepted": "False DuplicateRoute", "Programmed": "False Held", "Ready": "False NotAccepted"},
    ),
    "read-only": (
        status(report({"a": DEGRADED}), delivery=replace(EVERYWHERE, behind=READ_ONLY)),
        "Pending",
        {"Degraded": "True OverThreshold", "Programmed": "False ReadOnly", "Ready": "False NotProgrammed"},
    ),
    "frozen as it was": (
        status(report({"a": AS_IT_WAS}), delivery=replace(EVERYWHERE, behind=replace(READ_ONLY, reason="Frozen"))),
        "Degraded",
        {"Degraded": "True Frozen", "Programmed": "False Frozen", "Ready": "False NotProgrammed"},
    ),
    "the only listener lacks its certificate": (
        status(closed(report(**NO_SECRET))),
        "Failed",
        {"Resolved": "False SecretNotFound", "Ready": "False NotResolved"},
    ),
    "one of two listeners lacks its certificate": (
        status(report(**NO_SECRET)),
        "Degraded",
        {"Resolved": "False SecretNotFound", "Ready": "False NotResolved"},
    ),
    "one route is on the listener that lacks its certificate": (
        status(closed(report({"a": HEALTHY, "b": HEALTHY}, **NO_SECRET), "a")),
        "Degraded",
        {"Resolved": "False SecretNotFound", "Ready": "False NotResolved"},
    ),
    "one is rejected and the other on the listener that lacks its certificate": (
        status(closed(report({"a": HEALTHY, "b": REJECTED}, **NO_SECRET), "a")),
        "Failed",
        {
            "Resolved": "False SecretNotFound",
            "Degraded": "True NoHealthyBackend",
            "Ready": "False NotResolved",
        },
    ),
    "left out": (
        status(delivery=replace(EVERYWHERE, left_out=((KEY, LEFT_OUT),))),
        "Failed",
        {"Programmed": "False RefusedByEnvoy", "Ready": "False NotProgrammed"},
    ),
    "another's is left out": (
        status(delivery=replace(EVERYWHERE, left_out=((GatewayKey("shop", "other"), LEFT_OUT),))),
        "Ready",
        {},
    ),
    "degraded before any node is there": (
        status(report({"a": DEGRADED}), delivery=PUBLISHED),
        "Degraded",
        {"Degraded": "True OverThreshold", "Programmed": "False NoNodes", "Ready": "False NotProgrammed"},
    ),
}


@pytest.mark.parametrize("case", TABLE)
def test_table(case: str) -> None:
    found, phase, differs = TABLE[case]
    assert lines(found) == {**FINE, **differs}
    assert found.phase.value == phase
    assert all(each.message for each in found.conditions)
    assert all(each.reason.isalnum() and each.reason[0].isupper() for each in found.conditions)


def test_unknown_says_why_since_when_and_what_is_held() -> None:
    found = condition(status(report({"a": DEGRADED}), unknown("no broker answers", 5000, 95)), "Degraded")
    assert (
        "the lag of group orders is unknown: no broker answers (last known at 2023-11-14T22:11:45.000Z: 5000)"
        in found.message
    )
    assert "it stays degraded" in found.message
    never = condition(status(report({"a": HEALTHY}), unknown("no such group")), "Degraded")
    assert "no such group (never known); it stays primary" in never.message


def test_the_value_of_a_query_is_not_called_lag() -> None:
    found = status(report({"a": DEGRADED}), unknown("the value is NaN", 5000, 95, QUERIED))
    message = condition(found, "Degraded").message
    assert message.startswith("route a: the value of sum(depth) or vector(0) or vector(0)")
    assert "… is unknown: the value is NaN (last known at 2023-11-14T22:11:45.000Z: 5000); it stays degraded" in message
    assert "lag" not in message.lower()
    assert "\n" not in message
    assert len(message) < 400
    assert found.kafka_lag == {}


def test_messages_name_some_and_count_the_rest() -> None:
    many = condition(status(report({f"r{number}": DEGRADED for number in range(500)})), "Degraded")
    assert many.message.endswith(f"(and {500 - TOLD} more)")
    assert len(many.message) < 500
    lost = condition(status(report({f"r{number}": HEALTHY for number in range(500)}), unknown("why")), "Degraded")
    assert lost.message.endswith(f"(and {500 - TOLD} more)")


@pytest.mark.parametrize(
    "delivery",
    [replace(EVERYWHERE, held=HELD), replace(EVERYWHERE, behind=READ_ONLY), Delivery()],
    ids=["held", "read-only", "nothing is served yet"],
)
def test_what_is_not_in_force_is_told_as_what_would_be(delivery: Delivery) -> None:
    found = report({"a": DEGRADED, "b": HEALTHY})
    message = condition(status(found, delivery=delivery), "Degraded").message
    assert message == "not served, but what would be: route a: degraded (over-threshold), leads to shop/orders-lite:80"
    assert not any(is_served(each, delivery) for each in found.routes)


def test_what_is_frozen_is_in_force_and_what_is_new_is_not() -> None:
    delivery = replace(EVERYWHERE, behind=replace(READ_ONLY, reason="Frozen"))
    found = report({"a": AS_IT_WAS, "new": HEALTHY})
    assert [is_served(each, delivery) for each in found.routes] == [True, False]
    message = condition(status(found, delivery=delivery), "Degraded").message
    assert message.endswith("; not served, but what would be: new")


@pytest.mark.parametrize("state", ["no such group", "no offset yet", "stalled", "topic not found"])
@pytest.mark.parametrize("decision", [HEALTHY, DEGRADED, STUCK])
def test_what_the_observer_says_of_a_value_is_in_the_message(state: str, decision: Decision) -> None:
    message = condition(status(report({"a": decision}), known(0, state=state)), "Degraded").message
    assert message.endswith(f"; route a: the lag of group orders is known, but: {state}")
    fine = condition(status(report({"a": decision}), known(0)), "Degraded").message
    assert fine == message.partition("; ")[0]


def test_lag_by_group() -> None:
    other = Watch(LagQuery("default", "mail", ("in",)), Rule(10, 8))
    value = Watch(ValueQuery("up"), Rule(10, 8))
    readings = by_route(
        {
            "a": known(5),
            "b": known(70),
            "c": unknown("why", 9, 5, other),
            "d": known(3, value),
        }
    )
    found = status(report(dict.fromkeys("abcde", HEALTHY)), readings)
    assert found.kafka_lag == {"orders": 70, "mail": None}
    assert found.unknown == 1


def test_what_is_told_beside_conditions() -> None:
    found = status(report(**INVALID))
    assert (found.observed_generation, found.last_applied_hash, found.last_acked_version) == (3, "f00d", VERSION)
    assert found.last_error == "spec.routes[1].name: two routes are named a"
    assert status().last_error == ""
    assert status(delivery=replace(EVERYWHERE, refusal="n3: no")).last_error == "n3: no"


def test_reports_without_end_have_a_value() -> None:
    message = condition(status(readings=unknown("why", float("inf"), 5)), "Degraded").message
    assert "inf" in message


ALL_TWO = f"have accepted version {VERSION[:8]}"
NOT_KNOWN = f"it is not known what Envoys have of version {VERSION[:8]}: "
NOT_ALL = f"have not accepted all of version {VERSION[:8]} yet; of another version are replicas pod-1; "


@pytest.mark.parametrize(
    ("delivery", "message"),
    [
        (EVERYWHERE, f"all 2 Envoys {ALL_TWO}"),
        (replace(EVERYWHERE, replicas=3), f"all 2 Envoys on 3 replicas {ALL_TWO}"),
        (
            replace(EVERYWHERE, nodes=NodeCounts(4, 3, 0), replicas=2, lagging=("pod-1",), unheard=SILENT),
            f"1 of 4 Envoys on 2 replicas {NOT_ALL}replica pod-1: it does not answer",
        ),
        (
            replace(EVERYWHERE, unheard=SILENT),
            f"{NOT_KNOWN}replica pod-1: it does not answer; all 2 Envoys {ALL_TWO}",
        ),
        (replace(PUBLISHED, unheard=(("", "who there is was not told"),)), f"{NOT_KNOWN}who there is was not told"),
    ],
)
def test_programmed_speaks_of_all_replicas(delivery: Delivery, message: str) -> None:
    assert status(delivery=delivery).condition("Programmed").message == message

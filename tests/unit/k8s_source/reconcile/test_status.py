"""The status to be written: it passes the API server, keeps moments, and differs only where something does."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from k8s_source.kinds.gateway_status import MOST_MESSAGE, MOST_REASON, MOST_ROUTES, REASON, DynamicGatewayStatus
from k8s_source.reconcile.status import (
    NOTHING,
    Difference,
    Written,
    condition_of,
    difference,
    fit_reason,
    plain,
    read,
    wanted,
)
from tests.unit.k8s_source.reconcile.states import (
    ELSEWHERE,
    INVALID,
    NO_NODES,
    NOW,
    OVER,
    PENDING,
    PRIMARY,
    REFUSED,
    TYPES,
    UNKNOWN,
    state,
    states,
)
from xds_server.ir.gateway_status import DEGRADED, PROGRAMMED, Envoys, GatewayState

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "status", "name"]), inner),
    max_leaves=8,
)
FIELDS = ("conditions", "routes", "kafkaLag", "phase", "lastAckedVersion", "observedGeneration", "other")


def written(found: GatewayState, now: Written = NOTHING) -> Written:
    return plain(wanted(found, now))


@given(states())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_k60_whatever_is_said_passes_the_api_server(found: GatewayState) -> None:
    made = written(found)
    again = msgspec.json.decode(msgspec.json.encode(made), type=DynamicGatewayStatus)
    for each in again.conditions:
        assert re.fullmatch(REASON, each.reason)
        assert len(each.reason) <= MOST_REASON
        assert len(each.message.encode()) <= MOST_MESSAGE
    assert [each.type for each in again.conditions] == list(TYPES)
    assert len(msgspec.json.encode(made)) < 1_000_000, "etcd takes 1.5 MiB"


@given(states(), st.dictionaries(st.sampled_from(FIELDS), JSON))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_was_written_differs_in_nothing_whatever_was_there_before(found: GatewayState, odd: Written) -> None:
    made = written(found, odd)
    assert difference(made, made) is Difference.NONE
    assert written(found, made) == made, "a second look writes nothing"
    assert difference({**made, "foreign": 1}, written(found, {**made, "foreign": 1})) is Difference.NONE


@given(states(), st.integers(1, 1000))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_replica_that_began_later_writes_nothing(found: GatewayState, later: int) -> None:
    there = written(found)
    moved = {kind: at + later for kind, at in found.moved.items()}
    routes = tuple(replace(each, since=each.since + later) for each in found.routes)
    status = replace(found.status, last_acked_version="")
    other = replace(found, moved=moved, routes=routes, status=status)
    assert difference(there, written(other, there)) is Difference.NONE


@given(st.binary(max_size=20) | JSON.map(msgspec.json.encode))
def test_a_status_of_any_content_can_be_read(raw: bytes) -> None:
    now = read(raw)
    made = written(state(), now)
    assert difference(now, made) is Difference.SAID


DIFFER: dict[str, tuple[GatewayState, GatewayState, Difference]] = {
    "another generation": (state(), state(generation=2), Difference.SAID),
    "another hash": (state(), state(last_applied_hash="cafe"), Difference.SAID),
    "an error": (state(), state(last_error="spec.routes: no"), Difference.SAID),
    "another condition": (state(), state(INVALID), Difference.SAID),
    "a route that leads elsewhere": (state(), state(OVER, routes=(ELSEWHERE,)), Difference.SAID),
    "refused": (state(), state(REFUSED), Difference.SAID),
    "programmed at last": (state(PENDING), state(), Difference.SAID),
    "pending of a new generation": (state(), state(PENDING, generation=2), Difference.SAID),
    "pending of what it has already": (state(), state(PENDING), Difference.PASSING),
    "no Envoy any more": (state(), state(NO_NODES), Difference.PASSING),
    "unknown for once": (state(), state(UNKNOWN), Difference.PASSING),
    "unknown and refused": (state(), state(UNKNOWN, REFUSED), Difference.SAID),
    "known again": (state(UNKNOWN), state(), Difference.SAID),
    "an Envoy more": (state(), state(envoys=Envoys(3, 3)), Difference.COUNTS),
    "lag": (state(kafka_lag={"orders": 1.0}), state(kafka_lag={"orders": 2.0}), Difference.NUMBERS),
    "lag that is unknown": (state(kafka_lag={"orders": 1.0}), state(kafka_lag={"orders": None}), Difference.NUMBERS),
    "another version": (state(), state(last_acked_version="cafe"), Difference.VERSION),
    "the words of another version": (
        state(),
        state(PENDING._replace(status=state().status.conditions[3].status, reason="Programmed")),
        Difference.VERSION,
    ),
    "other words": (state(REFUSED), state(REFUSED._replace(message="else")), Difference.NUMBERS),
    "nothing": (state(), state(), Difference.NONE),
}


@pytest.mark.parametrize("case", DIFFER)
def test_differences(case: str) -> None:
    before, after, expected = DIFFER[case]
    there = written(before)
    assert difference(there, written(after, there)) is expected


def test_a_moment_moves_only_with_what_it_is_the_moment_of() -> None:
    there = written(state())
    later = {**state().moved, PROGRAMMED: NOW, DEGRADED: NOW}
    made = written(state(PENDING, moved=later, routes=(replace(PRIMARY, reason="fine", since=NOW),)), there)
    assert condition_of(made, PROGRAMMED)["lastTransitionTime"] == "2023-11-14T22:13:20Z"
    assert condition_of(made, DEGRADED)["lastTransitionTime"] == "2023-11-14T22:12:20Z"
    assert made["routes"] == [
        {"name": "a", "decision": "primary", "reason": "fine", "since": "2023-11-14T22:12:20Z", "backend": "shop/a:80"}
    ]


def test_a_foreign_edit_is_healed() -> None:
    there = dict(written(state()))
    edits: list[Written] = [{"phase": "Failed"}, {"conditions": []}, {"lastAppliedHash": None}, {"envoys": 3}]
    for odd in edits:
        assert difference({**there, **odd}, written(state(), {**there, **odd})) > Difference.NUMBERS


def test_of_very_many_routes_those_are_told_that_lead_elsewhere() -> None:
    many = tuple(replace(PRIMARY, name=f"r{index}") for index in range(MOST_ROUTES + 50))
    made = wanted(state(routes=(*many, ELSEWHERE)), NOTHING)
    assert len(made.routes) == MOST_ROUTES
    assert made.routes[0].name == "a"


def test_counts_are_unsure_where_a_replica_has_not_told_of_its_own() -> None:
    assert wanted(state(envoys=Envoys(3, 2)), NOTHING).envoys == "2/3"
    assert wanted(state(envoys=Envoys(3, 3, unheard=1)), NOTHING).envoys == "3/3?"


@pytest.mark.parametrize(
    ("given_reason", "fits"),
    [("DuplicateRoute", "DuplicateRoute"), ("A, B", "AB"), ("4x", "x"), ("", "Unknown"), ("é", "Unknown")],
)
def test_reasons(given_reason: str, fits: str) -> None:
    assert fit_reason(given_reason) == fits

"""Events: one for each transition, and none for what is only said again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from k8s_source.reconcile.happenings import Reason, happenings
from k8s_source.reconcile.status import NOTHING, Written, plain, wanted
from tests.unit.k8s_source.reconcile.states import (
    ELSEWHERE,
    FINE,
    INVALID,
    NO_NODES,
    OVER,
    PENDING,
    PRIMARY,
    REFUSED,
    UNKNOWN,
    state,
    states,
)
from xds_server.ir.gateway_status import DEGRADED as CHOICES, PROGRAMMED, RESOLVED, Condition, GatewayState, Status

MISSING = Condition(RESOLVED, Status.FALSE, "ServiceNotFound", "there is no Service shop/a")
LEFT_OUT = Condition(PROGRAMMED, Status.FALSE, "RefusedByEnvoy", "listener x is not served as declared: no")
OTHER = replace(ELSEWHERE, name="b")
DEGRADED = state(OVER, routes=(ELSEWHERE,))

STORIES: dict[str, tuple[list[GatewayState], list[str]]] = {
    "begins well": ([state()], ["Programmed"]),
    "begins without Envoys, one comes": ([state(NO_NODES), state(PENDING), state()], ["Programmed"]),
    "begins with lag unknown": ([state(UNKNOWN, PENDING), state(UNKNOWN), state()], ["Programmed"]),
    "begins invalid": ([state(INVALID, NO_NODES)], ["!Invalid"]),
    "is edited": ([state(), state(PENDING, generation=2), state(generation=2)], ["Programmed", "Programmed"]),
    "is edited and programmed between two looks": ([state(), state(generation=2)], ["Programmed", "Programmed"]),
    "loses its last Envoy": ([state(), state(NO_NODES), state()], ["Programmed", "!NotProgrammed", "Programmed"]),
    "is refused": (
        [state(), state(REFUSED, generation=2), state(generation=3)],
        ["Programmed", "!Refused", "Programmed"],
    ),
    "is refused from the beginning": ([state(REFUSED)], ["!Refused"]),
    "is left out": ([state(NO_NODES), state(LEFT_OUT)], ["!NotProgrammed"]),
    "degrades and recovers": ([state(), DEGRADED, state()], ["Programmed", "!Degraded", "Recovered"]),
    "degrades, is unknown, recovers": (
        [state(), DEGRADED, state(UNKNOWN, routes=(ELSEWHERE,)), state(routes=(PRIMARY,))],
        ["Programmed", "!Degraded", "!LagUnknown", "Recovered"],
    ),
    "is unknown and known again": ([state(), state(UNKNOWN), state()], ["Programmed", "!LagUnknown"]),
    "loses its backend and finds it again, lag unknown": (
        [state(UNKNOWN), state(UNKNOWN, routes=(ELSEWHERE,)), state(UNKNOWN, routes=(PRIMARY,))],
        ["Programmed", "!Degraded", "Recovered"],
    ),
    "begins without a backend, lag unknown": (
        [state(UNKNOWN, PENDING, routes=(ELSEWHERE,)), state(UNKNOWN, routes=(ELSEWHERE,))],
        ["!Degraded", "Programmed"],
    ),
    "loses lag and its backend at once": (
        [state(), state(UNKNOWN, routes=(ELSEWHERE,)), state()],
        ["Programmed", "!LagUnknown", "!Degraded", "Recovered"],
    ),
    "is repaired": ([state(), state(INVALID), state()], ["Programmed", "!Invalid", "Valid"]),
    "misses a Service for a while": ([state(), state(MISSING), state()], ["Programmed", "!Unresolved", "Resolved"]),
}


def told(found: list[GatewayState]) -> list[str]:
    """The Events of a gateway that has these states one after the other; warnings have a mark."""
    now: Written = NOTHING
    events: list[str] = []
    for each in found:
        then = plain(wanted(each, now))
        events += [f"{'!' if event.is_warning else ''}{event.reason.value}" for event in happenings(now, then)]
        now = then
    return events


@pytest.mark.parametrize("story", STORIES)
def test_one_event_for_each_transition(story: str) -> None:
    found, expected = STORIES[story]
    assert told(found) == expected
    assert told([each for each in found for _ in range(2)]) == expected, "what is only said again is no transition"


@given(states(), states())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_status_that_stays_is_no_event(one: GatewayState, other: GatewayState) -> None:
    now = plain(wanted(one, NOTHING))
    assert not list(happenings(now, now))
    for each in happenings(now, plain(wanted(other, now))):
        assert each.reason in Reason


@pytest.mark.parametrize("now", [OVER, UNKNOWN])
@pytest.mark.parametrize("was", [FINE[CHOICES], UNKNOWN])
def test_a_route_leaves_its_primary_backend_and_comes_back_with_an_event(was: Condition, now: Condition) -> None:
    """Whatever the condition says: it has one word for all routes, and lag that is unknown comes first."""
    well, ill = (plain(wanted(each, NOTHING)) for each in (state(was), state(now, routes=(PRIMARY, OTHER))))
    assert [each.is_warning for each in happenings(well, ill) if each.reason is Reason.DEGRADED] == [True]
    assert [each.is_warning for each in happenings(ill, well) if each.reason is Reason.RECOVERED] == [False]

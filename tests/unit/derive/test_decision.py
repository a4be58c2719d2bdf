"""The decision: each row of its table, and what holds for all."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from xds_server.derive.decision import Candidate, Situation, decide
from xds_server.ir.backend import BackendKey
from xds_server.ir.decision import Choice, Decision
from xds_server.ir.facts import Verdict
from xds_server.ir.switches import Value

PRIMARY = BackendKey("shop", "orders", 80)
DEGRADE = BackendKey("shop", "orders-lite", 80)
LAST = BackendKey("shop", "orders-before", 80)

UP, DOWN = Candidate(PRIMARY, is_healthy=True), Candidate(PRIMARY, is_healthy=False)
LITE_UP, LITE_DOWN = Candidate(DEGRADE, is_healthy=True), Candidate(DEGRADE, is_healthy=False)
ABSENT = Candidate(None, is_healthy=False)
NORMAL, OVER = Verdict.NORMAL, Verdict.OVER

TO_DEGRADE = Decision(Choice.DEGRADED, DEGRADE, "over-threshold")
TO_PRIMARY = Decision(Choice.PRIMARY, PRIMARY, "healthy")
IN_SPITE = Decision(Choice.PRIMARY, PRIMARY, "degrade-unhealthy")
OPEN = Decision(Choice.FAIL_OPEN, LAST, "no-healthy-backend")
REJECTED = Decision(Choice.REJECTED, None, "no-healthy-backend")

ROWS = [
    (OVER, LITE_UP, UP, TO_DEGRADE),
    (OVER, LITE_UP, DOWN, TO_DEGRADE),
    (OVER, LITE_UP, ABSENT, TO_DEGRADE),
    (OVER, LITE_DOWN, UP, IN_SPITE),
    (OVER, ABSENT, UP, IN_SPITE),
    (NORMAL, LITE_UP, UP, TO_PRIMARY),
    (NORMAL, LITE_DOWN, UP, TO_PRIMARY),
    (NORMAL, ABSENT, UP, TO_PRIMARY),
    # Only lag degrades.
    (NORMAL, LITE_UP, DOWN, None),
    (NORMAL, LITE_DOWN, DOWN, None),
    (NORMAL, ABSENT, DOWN, None),
    (NORMAL, ABSENT, ABSENT, None),
    (OVER, LITE_DOWN, DOWN, None),
    (OVER, ABSENT, DOWN, None),
    (OVER, LITE_DOWN, ABSENT, None),
]


FORCED = Decision(Choice.DEGRADED, DEGRADE, "forced")
HELD_BACK = Decision(Choice.PRIMARY, PRIMARY, "degradation-off")

SWITCHED = [
    (Value.FORCED, NORMAL, LITE_UP, UP, FORCED),
    (Value.FORCED, OVER, LITE_UP, DOWN, FORCED),
    (Value.FORCED, NORMAL, LITE_DOWN, UP, IN_SPITE),
    # To force all says nothing of routes that have nothing to degrade to.
    (Value.FORCED, NORMAL, ABSENT, UP, TO_PRIMARY),
    (Value.FORCED, NORMAL, LITE_DOWN, DOWN, REJECTED),
    (Value.OFF, OVER, LITE_UP, UP, HELD_BACK),
    (Value.OFF, NORMAL, LITE_UP, UP, TO_PRIMARY),
    (Value.OFF, OVER, LITE_UP, DOWN, REJECTED),
    (Value.AUTO, OVER, LITE_UP, UP, TO_DEGRADE),
]


@pytest.mark.parametrize(("mode", "verdict", "degrade", "primary", "expected"), SWITCHED)
def test_a_switch_goes_before_the_verdict(
    mode: Value, verdict: Verdict, degrade: Candidate, primary: Candidate, expected: Decision
) -> None:
    assert decide(Situation(primary, degrade, verdict, mode=mode), lambda: None) == expected
    frozen = Situation(primary, degrade, verdict, mode=mode, frozen=OPEN)
    assert decide(frozen, lambda: None) == Decision(Choice.FAIL_OPEN, LAST, "frozen"), "freeze goes before all"


@pytest.mark.parametrize("last", [LAST, None])
@pytest.mark.parametrize("fail_open", [True, False])
@pytest.mark.parametrize(("verdict", "degrade", "primary", "expected"), ROWS)
def test_the_table(
    *,
    verdict: Verdict,
    degrade: Candidate,
    primary: Candidate,
    expected: Decision | None,
    fail_open: bool,
    last: BackendKey | None,
) -> None:
    found = decide(Situation(primary, degrade, verdict, fail_open), lambda: last)
    assert found == (expected or (OPEN if fail_open and last else REJECTED))


candidates = st.sampled_from([ABSENT, UP, DOWN, LITE_UP, LITE_DOWN])
situations = st.builds(Situation, candidates, candidates, st.sampled_from(Verdict), st.booleans())


@given(situations, st.one_of(st.none(), st.just(LAST)))
def test_what_holds_for_all(situation: Situation, last: BackendKey | None) -> None:
    asked = 0

    def recall() -> BackendKey | None:
        nonlocal asked
        asked += 1
        return last

    found = decide(situation, recall)
    healthy = {each.backend for each in (situation.primary, situation.degrade) if each.is_healthy}
    assert found.choice is Choice.FAIL_OPEN or found.backend is None or found.backend in healthy
    assert (found.backend is None) == (found.choice is Choice.REJECTED)
    assert found.choice is not Choice.DEGRADED or situation.verdict is Verdict.OVER
    assert found.choice is not Choice.FAIL_OPEN or (situation.fail_open and not situation.primary.is_healthy)
    assert not asked or found.choice in {Choice.FAIL_OPEN, Choice.REJECTED}, "the memory may not matter to the others"

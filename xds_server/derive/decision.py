"""The decision: to which backend a route leads now, and why. One pure function; docs/decision.md has its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from xds_server.ir.backend import BackendKey
from xds_server.ir.decision import Choice, Decision
from xds_server.ir.facts import Verdict
from xds_server.ir.switches import Value

OVER_THRESHOLD = "over-threshold"
DEGRADE_UNHEALTHY = "degrade-unhealthy"
HEALTHY = "healthy"
NO_HEALTHY_BACKEND = "no-healthy-backend"
FORCED = "forced"
DEGRADATION_OFF = "degradation-off"
FROZEN = "frozen"
"""The reasons of decisions, as the admin API tells them."""

Recall = Callable[[], BackendKey | None]
"""The backend that the last good decision led to, None where nothing is remembered of it or of its endpoints."""


class Candidate(NamedTuple):
    """A backend that a route may lead to, and whether it has endpoints that take traffic; None where it has no such."""

    backend: BackendKey | None = None
    is_healthy: bool = False


NOTHING = Candidate()


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a decision depends on, but for the memory.

    `mode` is what an operator says of degradation, `frozen` the decision that stands while a route is frozen.
    """

    primary: Candidate
    degrade: Candidate = NOTHING
    verdict: Verdict = Verdict.NORMAL
    fail_open: bool = False
    mode: Value = Value.AUTO
    frozen: Decision | None = None


def decide(situation: Situation, recall: Recall) -> Decision:
    """Where a route leads now.

    `recall` is asked only where no backend may be taken and `failOpen` is set, so that no other decision depends on it.
    """
    if situation.frozen is not None:
        return replace(situation.frozen, reason=FROZEN)
    primary, degrade = situation.primary, situation.degrade
    wants, why = _wants_to_degrade(situation)
    if wants and degrade.is_healthy:
        return Decision(Choice.DEGRADED, degrade.backend, why)
    if primary.is_healthy:
        return Decision(Choice.PRIMARY, primary.backend, DEGRADE_UNHEALTHY if wants else why)
    last = recall() if situation.fail_open else None
    if last is not None:
        return Decision(Choice.FAIL_OPEN, last, NO_HEALTHY_BACKEND)
    return Decision(Choice.REJECTED, None, NO_HEALTHY_BACKEND)


def _wants_to_degrade(situation: Situation) -> tuple[bool, str]:
    """Whether a route is to lead to its degrade backend, and the reason for that or against it."""
    is_over = situation.verdict is Verdict.OVER
    if situation.mode is Value.OFF:
        return False, DEGRADATION_OFF if is_over else HEALTHY
    # To force all routes says nothing of those that have nothing to degrade to.
    if situation.mode is Value.FORCED and situation.degrade.backend is not None:
        return True, FORCED
    return is_over, OVER_THRESHOLD if is_over else HEALTHY

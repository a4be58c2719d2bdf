"""The decision: to which backend a route leads now, and why. One pure function; docs/decision.md has its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from xds_server.ir.backend import BackendKey
from xds_server.ir.decision import Choice, Decision
from xds_server.ir.facts import Verdict

OVER_THRESHOLD = "over-threshold"
DEGRADE_UNHEALTHY = "degrade-unhealthy"
HEALTHY = "healthy"
NO_HEALTHY_BACKEND = "no-healthy-backend"
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
    """All that a decision depends on, but for the memory."""

    primary: Candidate
    degrade: Candidate = NOTHING
    verdict: Verdict = Verdict.NORMAL
    fail_open: bool = False


def decide(situation: Situation, recall: Recall) -> Decision:
    """Where a route leads now.

    `recall` is asked only where no backend may be taken and `failOpen` is set, so that no other decision depends on it.
    """
    primary, degrade = situation.primary, situation.degrade
    is_over = situation.verdict is Verdict.OVER
    if is_over and degrade.is_healthy:
        return Decision(Choice.DEGRADED, degrade.backend, OVER_THRESHOLD)
    if primary.is_healthy:
        return Decision(Choice.PRIMARY, primary.backend, DEGRADE_UNHEALTHY if is_over else HEALTHY)
    last = recall() if situation.fail_open else None
    if last is not None:
        return Decision(Choice.FAIL_OPEN, last, NO_HEALTHY_BACKEND)
    return Decision(Choice.REJECTED, None, NO_HEALTHY_BACKEND)

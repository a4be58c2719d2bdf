"""Decisions that changed: told as events, to the audit log and to metrics, some at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from xds_server.ir.decision import Decision
from xds_server.ir.events import EventKind
from xds_server.ir.facts import Reading, RouteKey

_AT_ONCE = 50
"""Transitions that are told, and logged, at once; followers of events and the disk must keep up with thousands of routes."""

_REST = 0.0125
"""Seconds until more are told."""

Emit = Callable[[EventKind, Mapping[str, object]], object]
"""Tells an event to all who follow, and to the audit log."""

Later = Callable[[float, Callable[[], None]], object]
"""Has a function called after so many seconds (`loop.call_later`)."""


class Meter(Protocol):
    """Counts transitions."""

    def decided(self, namespace: str, gateway: str, decision: str) -> None:
        """A route of that gateway leads elsewhere now."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A route that is decided otherwise than before, and the version of its group with which that came into force."""

    route: RouteKey
    group: str
    before: Decision | None
    after: Decision
    reading: Reading | None
    version: str

    def as_json(self) -> dict[str, object]:
        """The data of the event; `lag` is the value of what `watches` says, null where it is unknown, or nothing is watched."""
        reading, after = self.reading, self.after
        return {
            "route": str(self.route),
            "namespace": self.route.namespace,
            "gateway": self.route.gateway,
            "group": self.group,
            "decision": after.choice.value,
            "reason": after.reason,
            "backend": _backend(after),
            "before": _decision(self.before),
            "after": _decision(after),
            "lag": reading.value if reading is not None else None,
            "threshold": reading.watch.rule.threshold if reading is not None else None,
            "state": reading.state if reading is not None else None,
            "watches": reading.watches if reading is not None else None,
            "version": self.version,
        }


class Transitions:
    """Tells every transition, in their order; of very many some at a time."""

    def __init__(self, emit: Emit, meter: Meter, later: Later) -> None:
        self._emit = emit
        self._meter = meter
        self._later = later
        self._waiting: deque[Transition] = deque()

    def tell(self, transition: Transition) -> None:
        """Tell it, now or a little later. Call `flush` after the last one of a round."""
        self._waiting.append(transition)

    def flush(self) -> None:
        """Tell the first of those that wait, and see to it that the others are told soon."""
        self._some(_AT_ONCE)
        if self._waiting:
            self._later(_REST, self.flush)

    def close(self) -> None:
        """Tell all that wait."""
        self._some(len(self._waiting))

    def _some(self, most: int) -> None:
        for _ in range(min(most, len(self._waiting))):
            transition = self._waiting.popleft()
            route = transition.route
            self._meter.decided(route.namespace, route.gateway, transition.after.choice.value)
            self._emit(EventKind.DEGRADATION, transition.as_json())


def _decision(decision: Decision | None) -> dict[str, object] | None:
    if decision is None:
        return None
    return {"decision": decision.choice.value, "reason": decision.reason, "backend": _backend(decision)}


def _backend(decision: Decision) -> str | None:
    return str(decision.backend) if decision.backend is not None else None

"""Decisions: to which backend a route leads now, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from xds_server.ir.backend import BackendKey
from xds_server.ir.facts import RouteKey, Watch
from xds_server.ir.gateway import GatewayKey, Policy
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem


class Choice(StrEnum):
    """The words of the admin API for what was decided."""

    PRIMARY = "primary"
    DEGRADED = "degraded"
    FAIL_OPEN = "fail_open"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided for one route; `backend` is None when it is rejected. `reason` is a constant word with dashes."""

    choice: Choice
    backend: BackendKey | None
    reason: str


@dataclass(frozen=True, slots=True)
class RouteReport:
    """A route with its decision, as the status tells it.

    `max_qps` is the declared limit, of which each Envoy has the part `share`; both are None without one. `is_open` tells
    whether any listener that it is on takes connections: one of HTTPS without its certificate takes none.
    """

    key: RouteKey
    decision: Decision
    watch: Watch | None
    max_qps: float | None = None
    share: float | None = None
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class GatewayReport:
    """What derivation has to say of a gateway: the rest of its status comes from nodes and observers.

    `invalid` are the problems that make it not accepted, `unresolved` those of references, `outdated` those of objects
    that it depends on and of which an older form, or another declaration, is in force; `routes` are all that are served.
    `applied` is a hash of what was derived from it. `held` names the routes that are frozen at something else than what is
    declared.
    """

    key: GatewayKey
    group: str
    generation: int
    origin: Origin
    policy: Policy
    routes: tuple[RouteReport, ...] = ()
    invalid: tuple[Problem, ...] = ()
    unresolved: tuple[Problem, ...] = ()
    outdated: tuple[Problem, ...] = ()
    applied: str = ""
    held: tuple[str, ...] = ()

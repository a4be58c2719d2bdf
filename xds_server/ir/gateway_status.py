"""The status of a gateway: what is said of it, by whomever tells it on. docs/gateway-status.md has every word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from xds_server.ir.gateway import GatewayKey
from xds_server.ir.origin import Origin

ACCEPTED = "Accepted"
"""The object is valid, and nothing of it is claimed by another."""

RESOLVED = "Resolved"
"""All that it names is there."""

DEGRADED = "Degraded"
"""Some route does not lead to its primary backend; Unknown: whether one should can't be told now."""

PROGRAMMED = "Programmed"
"""Every connected Envoy of the group has accepted what is served (without `requireEnvoyAck`: it is served)."""

READY = "Ready"
"""Accepted, Resolved and Programmed, and every route leads to a healthy backend."""


class Status(StrEnum):
    """What is said of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(NamedTuple):
    """One condition. `reason` is a CamelCase word for programs, `message` a sentence for people."""

    type: str
    status: Status
    reason: str
    message: str


class Phase(StrEnum):
    """A gateway in one word, for tables; the conditions say more."""

    PENDING = "Pending"
    READY = "Ready"
    DEGRADED = "Degraded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class GatewayStatus:
    """The status at one moment. `kafka_lag` is by consumer group, None where it is unknown; `last_error` "" without one.

    `unknown` counts the routes whose value is unknown.
    """

    observed_generation: int
    phase: Phase
    conditions: tuple[Condition, ...]
    kafka_lag: Mapping[str, float | None]
    last_applied_hash: str
    last_acked_version: str
    last_error: str
    unknown: int

    def condition(self, kind: str) -> Condition:
        """One of the conditions; a status has all of them."""
        return next(each for each in self.conditions if each.type == kind)


@dataclass(frozen=True, slots=True)
class RouteState:
    """Where a route leads now and why; `backend` is "" where it is rejected, `since` POSIX seconds."""

    name: str
    decision: str
    backend: str
    reason: str
    since: float


class Envoys(NamedTuple):
    """The Envoys of a group, of all replicas: connected, and with all of the version accepted.

    `unheard` counts the replicas that did not say how many are connected to them.
    """

    connected: int
    accepted: int
    unheard: int = 0


@dataclass(frozen=True, slots=True)
class GatewayState:
    """A gateway as it is now, as far as its object's status tells it.

    `moved` tells by type when (POSIX seconds) conditions last changed their status. `resync` (seconds) is after what time
    its object wants to be looked at anyway.
    """

    key: GatewayKey
    origin: Origin
    status: GatewayStatus
    moved: Mapping[str, float]
    routes: tuple[RouteState, ...]
    envoys: Envoys
    resync: float

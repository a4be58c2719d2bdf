"""The `status` of a DynamicGateway, as the API server has it. docs/gateway-status.md is the reference.

Bounds of conditions are those of `metav1.Condition` (apimachinery, pkg/apis/meta/v1/types.go).
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from xds_server.ir.decision import Choice
from xds_server.ir.gateway_status import Phase, Status

MOST_MESSAGE = 32_768
"""Characters of a condition's message, at most."""

MOST_REASON = 1_024
"""Characters of a reason, at most."""

MOST_ROUTES = 256
"""Routes, and consumer groups, that a status tells, at most."""

REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
"""What a condition's reason looks like."""

Stamp = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A moment, as RFC 3339 has it."""

Count = Annotated[int, Meta(ge=0)]
"""How many, or a generation."""


class ConditionStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """`status.conditions[]`."""

    type: Annotated[str, Meta(max_length=316)]
    status: Status
    observed_generation: Count
    last_transition_time: Stamp
    reason: Annotated[str, Meta(min_length=1, max_length=MOST_REASON, pattern=REASON)]
    message: Annotated[str, Meta(max_length=MOST_MESSAGE)]


class RouteStatus(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`status.routes[]`: where a route leads, why, and since when. It has no backend where it is rejected."""

    name: str
    decision: Choice
    reason: str
    since: Stamp
    backend: str | None = None


class DynamicGatewayStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """`status`. `envoys` is how many have accepted all, of how many that are connected: `3/3`.

    All fields are always written: of one that is not, server-side apply leaves what somebody else has put there.
    """

    observed_generation: Count
    phase: Phase
    envoys: str
    conditions: tuple[ConditionStatus, ...]
    last_applied_hash: str
    routes: tuple[RouteStatus, ...] = ()
    kafka_lag: dict[str, float | int | None] = {}
    last_acked_version: str | None = None
    last_error: str | None = None

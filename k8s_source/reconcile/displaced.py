"""The state of an object that is not in force, since a gateway of its name is declared in a source that comes first. Pure."""

from __future__ import annotations

from dataclasses import replace

from xds_server.ir.gateway_status import (
    ACCEPTED,
    DEGRADED,
    PROGRAMMED,
    READY,
    RESOLVED,
    Condition,
    GatewayState,
    GatewayStatus,
    Phase,
    Status,
)

_REASON = "DuplicateObject"


def displaced(state: GatewayState, generation: int) -> GatewayState:
    """What is to be said of the object of that generation; `state` is that of the gateway that is in force instead."""
    message = (
        f"a DynamicGateway of this name is declared in {state.origin.source} ({state.origin}); that one is in force"
    )
    conditions = (
        Condition(ACCEPTED, Status.FALSE, _REASON, message),
        Condition(RESOLVED, Status.UNKNOWN, _REASON, message),
        Condition(DEGRADED, Status.UNKNOWN, _REASON, message),
        Condition(PROGRAMMED, Status.FALSE, _REASON, message),
        Condition(READY, Status.FALSE, f"Not{ACCEPTED}", message),
    )
    status = GatewayStatus(generation, Phase.FAILED, conditions, {}, "", "", message, 0)
    return replace(state, status=status, routes=())

"""Whether what was decided of a route is what Envoys are given: a rollback or a switch may hold it back. Pure."""

from __future__ import annotations

from xds_server.derive.decision import FROZEN
from xds_server.ir.decision import GatewayReport, RouteReport
from xds_server.status.delivery import Delivery

NOT_IN_FORCE = "not served, but what would be"
"""How a message begins that tells decisions which are not in force."""


def is_served(route: RouteReport, delivery: Delivery) -> bool:
    """Whether the decision of a route is in force; a frozen one is the one from before, so it is."""
    if not (delivery.version and route.is_open) or delivery.held:
        return False
    behind = delivery.behind
    return behind is None or (behind.reason == "Frozen" and route.decision.reason == FROZEN)


def is_kept_back(report: GatewayReport, delivery: Delivery) -> bool:
    """Whether a rollback or a switch keeps Envoys at something else than what is decided."""
    is_held = bool(delivery.held) or delivery.behind is not None
    return is_held and not all(is_served(each, delivery) for each in report.routes)

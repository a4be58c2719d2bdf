"""What leaves derivation beside resources, as values: for the status, for observers, and for the memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xds_server.ir.backend import BackendKey
from xds_server.ir.decision import Decision, GatewayReport
from xds_server.ir.facts import RouteKey, Watch
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.objects import Object, ObjectKey


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is not as it was after the round before, by key; None for what is gone."""

    reports: Mapping[GatewayKey, GatewayReport | None] = field(default_factory=dict)
    watches: Mapping[RouteKey, Watch | None] = field(default_factory=dict)
    decisions: Mapping[RouteKey, Decision | None] = field(default_factory=dict)
    objects: Mapping[ObjectKey, Object | None] = field(default_factory=dict)
    """In their last good form."""
    lingering: Mapping[BackendKey, bool | None] = field(default_factory=dict)
    """Backends without endpoints that are served those which they had, for a while."""

    def __bool__(self) -> bool:
        """Whether anything is not as it was."""
        return bool(self.reports or self.watches or self.decisions or self.objects or self.lingering)

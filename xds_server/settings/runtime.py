"""The sections about the process itself: `log`, and its work in a Kubernetes cluster."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from xds_server.settings.base import Section
from xds_server.settings.units import Count


class Log(Section):
    """The section `log`: what is logged to standard error, and how."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least grave level that is logged."""
    format: Literal["auto", "console", "json"] = "auto"
    """For people, for programs, or `auto`: for people on a terminal."""


class Kubernetes(Section):
    """The section `kubernetes`: work that changes things in the cluster."""

    leader_election: dict[str, object] = Field(default_factory=dict)
    """How replicas agree on the one that writes; taken as it is until the Kubernetes source comes."""
    max_concurrent_reconciles: Count = 4
    """Objects that are worked on at the same time."""

"""What reflectors tell of their work, to metrics."""

from __future__ import annotations

from typing import Protocol


class Meter(Protocol):
    """Where reflectors count; `resource` is the plural with its group: `endpointslices.discovery.k8s.io`."""

    def listed(self, resource: str, seconds: float) -> None:
        """Count a list that was read whole, paged or streamed."""

    def watched(self, resource: str) -> None:
        """Count a watch that was asked for."""

    def watch_ended(self, resource: str, reason: str) -> None:
        """Count a watch that ended: `timeout` (in order), `short`, `silent`, or `error`."""

    def watch_event(self, resource: str, kind: str) -> None:
        """Count an event of a watch: ADDED, MODIFIED, DELETED, BOOKMARK."""


class NoMeter:
    """Counts nothing."""

    def listed(self, resource: str, seconds: float) -> None:
        """Nothing."""

    def watched(self, resource: str) -> None:
        """Nothing."""

    def watch_ended(self, resource: str, reason: str) -> None:
        """Nothing."""

    def watch_event(self, resource: str, kind: str) -> None:
        """Nothing."""

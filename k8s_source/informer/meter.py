"""What reflectors tell of their work, to metrics. The words are those of client-go's reflector metrics."""

from __future__ import annotations

from typing import Protocol


class Meter(Protocol):
    """Where reflectors count; `resource` is the plural with its group: `endpointslices.discovery.k8s.io`."""

    def listed(self, resource: str, seconds: float, items: int) -> None:
        """Count a list that was read whole, paged or streamed."""

    def watched(self, resource: str) -> None:
        """Count a watch that was opened."""

    def watch_ended(self, resource: str, why: str) -> None:
        """Count a watch that ended: `timeout` (in order), `short`, `silent`, or `error`."""

    def event(self, resource: str, kind: str) -> None:
        """Count an event of a watch: ADDED, MODIFIED, DELETED, BOOKMARK, ERROR."""


class NoMeter:
    """Counts nothing."""

    def listed(self, resource: str, seconds: float, items: int) -> None:
        """Nothing."""

    def watched(self, resource: str) -> None:
        """Nothing."""

    def watch_ended(self, resource: str, why: str) -> None:
        """Nothing."""

    def event(self, resource: str, kind: str) -> None:
        """Nothing."""

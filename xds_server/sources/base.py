"""The Source protocol: how any way in (files, Kubernetes, push, a plug-in) hands over what it declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xds_server.ir.declared import Unit
from xds_server.ir.problem import Problem


class Sink(Protocol):
    """What a source talks to. The calls are cheap, never block, and may only be made on the event loop."""

    def replace(self, units: Sequence[Unit], removed: Sequence[str] = ()) -> None:
        """Replace what the places `units` declare, and forget the places whose keys are `removed`."""

    def synced(self) -> None:
        """Say that all there is has been handed over once (readiness waits for it)."""

    def failed(self, problem: Problem) -> None:
        """Say that the source as a whole can't be read now; what it declared before stays in force."""

    def recovered(self) -> None:
        """Take back `failed`."""


class Source(Protocol):
    """One configured way in. Found by the entry point group `tidegate.sources` under its `kind`."""

    name: str
    kind: str

    async def run(self, sink: Sink) -> None:
        """Hand over everything, call `sink.synced()`, then go on with changes until cancelled."""

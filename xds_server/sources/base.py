"""The Source protocol: how any way in (files, Kubernetes, push, a plug-in) hands over what it declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from xds_server.ir.declared import Unit
from xds_server.ir.objects import Object
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem

DecodeObject = Callable[[Mapping[str, object], Origin, str], Object | tuple[Problem, ...]]
"""(manifest, its origin, the group of the folder it stands in) → the object, or what is wrong with it.

A kind that is not known is wrong too. Each problem has an origin with the object's kind, namespace and name as far as they
can be told, and the field as a path (`spec.routes[0].path`). It is called in threads, and never raises.
"""


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

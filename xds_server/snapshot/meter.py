"""What the pipeline tells of its work, to metrics and to traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol


class Meter(Protocol):
    """What the pipeline tells of its work."""

    def built(self, seconds: float) -> None:
        """An assembly took that long."""

    def published(self, group: str) -> None:
        """A group got a new snapshot."""

    def push_latency(self, seconds: float) -> None:
        """From the first change of a batch to its snapshot being handed to the streams."""


class Trace(Protocol):
    """The trace of one round of changes; times are of the monotonic clock."""

    @property
    def id(self) -> str:
        """The trace's id; "" where there is none."""

    def assembled(self, began: float, ended: float) -> None:
        """The snapshots were made between these times."""

    def published(self, attributes: Mapping[str, str | int], types: Mapping[str, str], began: float) -> None:
        """A group is served a snapshot; `types` are the types that changed, with their versions."""


Traced = Callable[[float], AbstractContextManager[Trace | None]]
"""Begins the trace of what began at that time; None where nothing is traced."""

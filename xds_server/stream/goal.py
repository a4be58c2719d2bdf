"""Where one type of a client is to go, and the step that leads there."""

from __future__ import annotations

from dataclasses import dataclass

from xds_server.snapshot.typeset import Typeset
from xds_server.wire.response import Response

_OVERHEAD = 500


@dataclass(frozen=True, slots=True)
class Goal:
    """What one client should have of one type for now.

    `withheld` are names that exist but are missing here, or have a content here that must not be sent, since this
    client may not get them yet (or again): it must not be told that they are absent. `overdue` is the number of
    contents whose wait for clusters has run out.
    `waits_for` is the key of the type whose answer is awaited, None when nothing is.
    """

    typeset: Typeset
    withheld: frozenset[str] = frozenset()
    overdue: int = 0
    waits_for: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What leads to a goal: a response (None when the client needs none) and what the client has after it."""

    response: Response | None
    after: Typeset


def sized(step: Step | None) -> tuple[Step | None, int]:
    """A step and about how many bytes it holds."""
    return step, _OVERHEAD + (len(step.response.message) + len(step.response.body) if step and step.response else 0)

"""How well a kind is followed: what operators and sources are told of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What is known of a kind in the API server."""

    ABSENT = "absent"
    """The API server has no such kind: read and empty. It is asked for again now and then."""
    LISTING = "listing"
    """It has not been read yet."""
    WATCHING = "watching"
    """What is known is what is."""
    STALE = "stale"
    """What is known is what was: the API server does not answer, or a watch is silent beyond its time."""
    FORBIDDEN = "forbidden"
    """The API server does not let us read it (401, 403). What was known stays."""


_BY_GRAVITY = (Phase.FORBIDDEN, Phase.STALE, Phase.LISTING, Phase.ABSENT, Phase.WATCHING)


@dataclass(frozen=True, slots=True)
class Condition:
    """A phase, since when (POSIX time) and, where something is wrong, what: with the verb and the kind."""

    phase: Phase
    since: float
    error: str = ""

    @property
    def is_good(self) -> bool:
        """Whether what is known is what is."""
        return self.phase in {Phase.WATCHING, Phase.ABSENT}


def worst(conditions: Iterable[Condition]) -> Condition:
    """The condition of a kind that is read in several namespaces: that of the worst of them, of two the earlier one."""
    return min(conditions, key=lambda each: (_BY_GRAVITY.index(each.phase), each.since))

"""Conditions in the shape of Kubernetes' `metav1.Condition`: what of a gateway is so, is not so, or is not known."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

ACCEPTED = "Accepted"
"""The object is valid, and nothing of it is claimed by another."""

RESOLVED = "Resolved"
"""All that it names is there."""

DEGRADED = "Degraded"
"""Some route does not lead to its primary backend; Unknown: whether one should can't be told now."""

PROGRAMMED = "Programmed"
"""Every connected Envoy of the group has accepted what is served (without `requireEnvoyAck`: it is served)."""

READY = "Ready"
"""Accepted, Resolved and Programmed, and every route leads to a healthy backend."""

TOLD = 3
"""Routes or problems that a message names; of more it tells how many."""


class Status(StrEnum):
    """What is said of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(NamedTuple):
    """One condition. `reason` is a CamelCase word for programs, `message` a sentence for people."""

    type: str
    status: Status
    reason: str
    message: str


def told(things: list[str]) -> str:
    """The first of these, and how many more there are."""
    more = f" (and {len(things) - TOLD} more)" if len(things) > TOLD else ""
    return "; ".join(things[:TOLD]) + more


def word(reason: str) -> str:
    """A decision's reason (`over-threshold`) as a condition has it (`OverThreshold`)."""
    return "".join(part.capitalize() for part in reason.split("-"))


def age(seconds: float) -> str:
    """An age in its largest unit: `45s`, `12m`, `3h`, `5d`."""
    whole = max(0, int(seconds))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"

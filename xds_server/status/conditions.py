"""The words of conditions: lists that stay short, and reasons as Kubernetes wants them."""

from __future__ import annotations

TOLD = 3
"""Routes or problems that a message names; of more it tells how many."""


def told(things: list[str]) -> str:
    """The first of these, and how many more there are."""
    more = f" (and {len(things) - TOLD} more)" if len(things) > TOLD else ""
    return "; ".join(things[:TOLD]) + more


def word(reason: str) -> str:
    """A decision's reason (`over-threshold`) as a condition has it (`OverThreshold`)."""
    return "".join(part.capitalize() for part in reason.split("-"))

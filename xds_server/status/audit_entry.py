"""One entry of the audit log."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

KEPT = 10_000
"""Entries that are kept of each roll."""


class Action(StrEnum):
    """What can be done."""

    VERSION = "version"
    DEGRADATION = "degradation"
    ROLLBACK = "rollback"
    RELEASE = "release"
    PUSH = "push"
    SWITCH = "switch"
    SETTING = "setting"
    DENIED = "denied"
    STATE_DAMAGED = "state_damaged"
    WRITE = "write"


class Roll(StrEnum):
    """What is bounded apart, so that none drives the others out: what comes by itself, and what people and programs did."""

    VERSIONS = "versions"
    DEGRADATIONS = "degradations"
    WRITES = "writes"
    ACTIONS = "actions"


_ROLLS = {Action.VERSION: Roll.VERSIONS, Action.DEGRADATION: Roll.DEGRADATIONS, Action.WRITE: Roll.WRITES}


class Entry(msgspec.Struct, frozen=True):
    """Something that was done. `id` rises; `at` is POSIX seconds; `before` and `after` are JSON values."""

    id: int
    at: float
    actor: str
    action: Action
    target: str
    reason: str
    before: Any
    after: Any
    version: str

    @property
    def roll(self) -> Roll:
        """Where it is kept."""
        return _ROLLS.get(self.action, Roll.ACTIONS)

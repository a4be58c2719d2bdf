"""One entry of the audit log."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

KEPT = 10_000
"""Entries that are kept of versions, of degradations, and of everything else."""


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

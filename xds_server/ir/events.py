"""What happened, as values: the only way facts travel back up (to the admin API, logs and reconcilers)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class EventKind(StrEnum):
    """The `event:` names of `GET /v1/events`."""

    VERSION = "version"
    ACK = "ack"
    NACK = "nack"
    SOURCE = "source"
    DEGRADATION = "degradation"
    SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. `at` is POSIX seconds; `data` holds JSON values; `id` rises by one each."""

    id: int
    at: float
    kind: EventKind
    data: Mapping[str, object]

"""An Event: what it says, what makes two of them the same, and the object that is written. Pure.

Fields and limits: API reference, `Event` (events.k8s.io/v1), and kube-apiserver's validation (pkg/apis/core/validation/events.go).
KEP-383 tells what they are for.
"""

from __future__ import annotations

import uuid
from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from k8s_source.client.resource import EVENTS
from k8s_source.client.times import micro_time

MOST_NOTE = 1024
"""Bytes of a note."""

_MOST_NAME = 253
_MOST_INSTANCE = 128
_CUT = "…"
_ELSEWHERE = "default"
"""The namespace of Events about objects that have none."""


class Type(StrEnum):
    """The two types that the API server takes."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Reference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An object that an Event is about (`core/v1` ObjectReference), as it was at that moment."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """What happened. `reason` (why) and `action` (what was done or tried) are CamelCase words, `note` is for people."""

    regarding: Reference
    type: Type
    reason: str
    action: str
    note: str
    related: Reference | None = None

    @property
    def key(self) -> Hashable:
        """What two Events of one series have in common: all but the note, as client-go's `eventKey` has it.

        In that the resourceVersion counts, too. Here it does not: a status that is written would end each series.
        """
        return (self.type, self.reason, self.action, _identity(self.regarding), _identity(self.related))

    @property
    def namespace(self) -> str:
        """Where it is written."""
        return self.regarding.namespace or _ELSEWHERE


class Series(msgspec.Struct, frozen=True, rename="camel"):
    """How often it was seen, 2 or more times, and when last."""

    count: int
    last_observed_time: str


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str


class _Body(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    api_version: str
    kind: str
    metadata: _Metadata
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: Reference
    note: str
    type: Type
    related: Reference | None = None
    series: Series | None = None


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who reports: the controller's qualified name, and which of its processes."""

    controller: str
    instance: str


@dataclass(frozen=True, slots=True)
class Write:
    """An Event to be written, or what a series of it has become. `at` is POSIX time of its first, `last` of its newest."""

    event: Event
    name: str
    at: float
    count: int = 1
    last: float = 0.0

    @property
    def series(self) -> Series | None:
        """None for what was seen once."""
        return Series(self.count, micro_time(self.last)) if self.count > 1 else None


def body_of(write: Write, reporter: Reporter) -> bytes:
    """The whole object."""
    event = write.event
    return msgspec.json.encode(
        _Body(
            EVENTS.api_version,
            EVENTS.kind,
            _Metadata(write.name, event.namespace),
            micro_time(write.at),
            reporter.controller,
            reporter.instance[:_MOST_INSTANCE],
            event.action,
            event.reason,
            event.regarding,
            shortened(event.note),
            event.type,
            event.related,
            write.series,
        )
    )


def patch_of(write: Write) -> bytes:
    """The merge patch that tells the series; all other fields of an Event can't be changed."""
    return msgspec.json.encode({"series": write.series})


def name_of(regarding: Reference, nanoseconds: int) -> str:
    """A name that no other Event has: the object's with the time in hex; something else where that is too long."""
    name = f"{regarding.name}.{nanoseconds:x}"
    return name if len(name) <= _MOST_NAME else str(uuid.uuid4())


def shortened(note: str) -> str:
    """A note of at most 1,024 bytes: the API server counts bytes, and half a character is none."""
    encoded = note.encode()
    if len(encoded) <= MOST_NOTE:
        return note
    return encoded[: MOST_NOTE - len(_CUT.encode())].decode(errors="ignore") + _CUT


def _identity(reference: Reference | None) -> Hashable:
    if reference is None:
        return None
    return (reference.api_version, reference.kind, reference.namespace, reference.name, reference.uid)

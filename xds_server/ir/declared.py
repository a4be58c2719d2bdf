"""What a source hands over: objects as declared, not yet looked into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xds_server.ir.objects import Object
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem

REDACTED_MARK: Mapping[str, object] = {"filter_metadata": {"tidegate.dev": {"redacted": True}}}
"""`metadata` of a wrapped resource in an archive whose secrets are redacted: its version stands beside it."""


@dataclass(frozen=True, slots=True)
class NativeDocument:
    """One xDS resource as its author wrote it: proto3 JSON (with `@type`) as plain Python values.

    `within` is the path of `body` in the document it stands in (`resources[3]`), "" where it is the document.
    `version` is that of the content which `body` was before its secrets were redacted, "" for all but archives.
    """

    group: str
    body: Mapping[str, object]
    origin: Origin
    within: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """One xDS resource as the bytes of its message, of type `type_url`.

    `name` is the resource's name as its source knows it; `within` as in `NativeDocument`.
    """

    group: str
    type_url: str
    name: str
    body: bytes
    origin: Origin
    within: str = ""


Declared = NativeDocument | EncodedDocument
"""One resource, in one of the forms in which it can be declared."""


@dataclass(frozen=True, slots=True)
class Unit:
    """All that one place (a file, a pushing owner) declares now; it replaces what that place said before.

    `key` names the place within its source and orders places: the first by key keeps a name that two claim.
    `broken` says that the place can't be read as a whole: its last good content stays in force. A problem whose origin
    has a `kind` and a `name` is that of one object, whose last good content stays. `emptied` is what is wrong if it ever
    declared anything: now it has no content at all, as after a write that failed; then it counts as broken.
    """

    key: str
    documents: tuple[Declared, ...] = ()
    objects: tuple[Object, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: bool = False
    emptied: Problem | None = None

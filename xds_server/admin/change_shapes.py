"""The shapes of changes: what is asked for, and what the audit log tells of it."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from xds_server.admin.shapes import Stamp

_SOMETHING = r"[^\s\x1C-\x1F\x85\uFEFF]"
"""A letter that is no space, neither to Python nor to ECMA-262, whose patterns JSON Schema has."""

Reason = Annotated[
    str, Meta(min_length=1, max_length=1000, pattern=_SOMETHING, description="For people and the audit log")
]
"""Why somebody does something."""


class RollbackRequest(Struct, forbid_unknown_fields=True):
    """Where to go back to, and why."""

    to: Annotated[str | int, Meta(description="A version, or its seq")]
    reason: Reason


class ReleaseRequest(Struct, forbid_unknown_fields=True):
    """Why."""

    reason: Reason


class AuditEntry(Struct):
    """Something that was done. `id` rises; a version has the id of its event."""

    id: int
    at: Stamp
    actor: str
    action: str
    target: str
    reason: str
    before: Any
    after: Any
    version: str


class AuditLog(Struct):
    """Entries, newest first; `next` is what to give as `after` for those before them, null at the end."""

    entries: list[AuditEntry]
    next: int | None

"""The shapes of `/v1/push`. Fields may be added, none renamed."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from xds_server.admin.shapes import Counts, ResourceName, SourceError, Stamp

OwnVersion = Annotated[str | int, Meta(description="The owner's own word for the state of its set; only ever compared")]
Lease = Annotated[float | None, Meta(description="Seconds after which the set goes unless it is renewed; 0: never")]
Resources = Annotated[
    list[Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]],
    Meta(description="Native xDS documents: proto3 JSON with @type"),
]


class PushRequest(Struct, forbid_unknown_fields=True):
    """A set, whole (PUT), or what changes in it (PATCH). `remove` and `base` are for PATCH."""

    version: OwnVersion
    resources: Resources = []
    remove: list[ResourceName] = []
    lease_s: Lease = None
    base: Annotated[
        str | int | None, Meta(description="The version that the change builds on; another one is refused")
    ] = None


class PushSnapshot(Struct):
    """What the group is served with the change in it."""

    version: str
    seq: int


class PushAnswer(Struct):
    """What is in force now of an owner's set of a group.

    `version` is null when the set is gone. `changed` is false when the version was in force already. `snapshot` is null
    when it is not known yet; `/v1/groups/{group}` will tell. `problems` tells what of the set is not served, and why.
    """

    owner: str
    group: str
    version: str | None
    changed: bool
    counts: Counts
    lease_s: Lease
    expires: Stamp | None
    snapshot: PushSnapshot | None
    problems: list[SourceError]


def as_text(resource: Any) -> str:
    """A resource's JSON as text.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    return bytes(resource).decode()

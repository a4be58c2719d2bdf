"""The shapes of `/v1/push`. Fields may be added, none renamed.

The limits stand here for the OpenAPI document only. The source judges, over HTTP as over gRPC, and says what it expects.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from xds_server.admin.shapes import Counts, SourceError, Stamp
from xds_server.sources.push.intake import LONGEST_LEASE, LONGEST_NAME

OwnVersion = Annotated[
    str | int,
    Meta(
        description="The owner's own word for the state of its set; only ever compared",
        extra_json_schema={"minLength": 1, "maxLength": LONGEST_NAME},
    ),
]
Lease = Annotated[
    float | None,
    Meta(
        description="Seconds after which the set goes unless it is renewed; 0: never",
        extra_json_schema={"minimum": 0, "maximum": LONGEST_LEASE},
    ),
]
Word = Annotated[str, Meta(extra_json_schema={"minLength": 1})]
Resources = Annotated[
    list[Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]],
    Meta(description="Native xDS documents: proto3 JSON with @type"),
]


class Removal(Struct):
    """A resource that goes, by its identity; `type` is a short key or a type URL."""

    type: Word
    name: Word


class PushRequest(Struct, forbid_unknown_fields=True):
    """A set, whole. `remove` and `base` are for PATCH."""

    version: OwnVersion
    resources: Resources = []
    remove: Annotated[list[Removal], Meta(extra_json_schema={"maxItems": 0})] = []
    lease_s: Lease = None
    base: Annotated[str | int | None, Meta(extra_json_schema={"type": "null"})] = None


class PushChange(Struct, forbid_unknown_fields=True):
    """What changes in a set."""

    version: OwnVersion
    resources: Resources = []
    remove: list[Removal] = []
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
    stored: Annotated[bool | None, Meta(description="Whether the change is on disk; null without a state_dir")]
    problems: list[SourceError]


def as_text(resource: Any) -> str:
    """A resource's JSON as text.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    return bytes(resource).decode()

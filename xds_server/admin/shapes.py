"""The shapes of the answers, as the OpenAPI document describes them. Fields may be added, none renamed."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Stamp = Annotated[str, Meta(description="RFC 3339, UTC", extra_json_schema={"format": "date-time"})]
"""A moment."""

TypeKey = Annotated[str, Meta(description="cds, eds, lds, rds, sds, else the type URL")]
"""A resource type."""

Counts = Annotated[dict[str, int], Meta(description="Numbers of resources by type; the five short keys always")]
"""How many resources there are."""


class Origin(Struct, rename={"api_version": "apiVersion"}):
    """Where an object was declared. `document` and `line` count from 1; 0 where there is no file."""

    source: str
    path: str
    document: int
    line: int
    api_version: str
    kind: str
    namespace: str
    name: str
    generation: int


class Change(Struct):
    """What made a version: the source, and what changed in it."""

    source: str
    change: str


class TypeVersion(Struct):
    """`version` is SotW's version_info and delta's system_version_info."""

    version: str


class NodeCounts(Struct):
    """Nodes connected now, with everything accepted, refusing something."""

    connected: int
    acked: int
    nacked: int


class LeftOut(Struct):
    """A declared resource that is not served as declared, and why."""

    type: TypeKey
    name: str
    reason: str
    message: str
    origin: list[Origin]


class Withheld(Struct):
    """A content that some node refused and none accepted: nodes that come new are not given it.

    `message` is what the first one said, `nodes` are ten of them at most; `stand_in` is the version that new nodes get
    instead, null where none was ever accepted, so that it is left out.
    """

    type: TypeKey
    name: str
    version: str
    stand_in: str | None
    message: str
    nodes: list[str]
    origin: list[Origin]


class Hold(Struct):
    """A version that a group is held at."""

    to: str
    by: str
    reason: str
    since: Stamp


class Held(Hold):
    """The version that the group is held at now."""

    stored: Annotated[
        bool | None, Meta(description="Whether it is on disk that the group is held; null without a state_dir")
    ]


class Behind(Struct):
    """That a switch keeps a group from what is declared: the version that it would be served, and which, by whom, why."""

    version: str
    reason: Annotated[str, Meta(description="ReadOnly or Frozen")]
    message: str


class Fleet(Struct):
    """The nodes of a group on all replicas. `replicas` counts those that answer, this one included.

    `acked` counts nodes whose replica serves this version, too; `lagging` names the replicas that serve nodes another one.
    `unheard` names those of which nothing is known now; then `programmed` is null, unless it is false anyway.
    """

    replicas: int
    nodes: NodeCounts
    programmed: bool | None
    lagging: list[str]
    unheard: list[str]


class Group(Struct):
    """A group of nodes and what it is served. Before it has any: `version` "", `created` null.

    `nodes`, `programmed` and `reason` are about the nodes that are connected to this replica.
    """

    name: str
    version: str
    seq: int
    created: Stamp | None
    origin: Change
    counts: Counts
    types: dict[str, TypeVersion]
    nodes: NodeCounts
    programmed: Annotated[bool, Meta(description="Every connected node has accepted the version; false with none")]
    reason: Annotated[str | None, Meta(description="Why it is not programmed; null when it is")]
    stored: Annotated[
        bool | None,
        Meta(description="Whether the version, and that it is held or not, is on disk; null without a state_dir"),
    ]
    held: Held | None
    behind: Behind | None
    left_out: list[LeftOut]
    withheld: list[Withheld]
    fleet: Annotated[Fleet | None, Meta(description="The nodes on all replicas; null where there is one only")]


class Groups(Struct):
    """All groups."""

    groups: list[Group]


class Version(Struct):
    """One published snapshot; `acked` and `nacked` count the nodes that accepted all of it or refused any of it.

    `trace` is the id of its trace, where traces are made.
    """

    seq: int
    version: str
    created: Stamp
    origin: Change
    counts: Counts
    acked: int
    nacked: int
    trace: str | None


class Versions(Struct):
    """The snapshots that are kept, newest first."""

    versions: list[Version]


class Resource(Struct):
    """One resource; `resource` is its proto3 JSON without private keys."""

    type: TypeKey
    name: str
    version: str
    resource: dict[str, Any]
    origin: list[Origin]


class VersionContent(Struct):
    """One snapshot with its resources."""

    seq: int
    version: str
    resources: list[Resource]


class ResourceName(Struct):
    """A resource by its identity."""

    type: TypeKey
    name: str


class FieldChange(Struct, rename={"from_": "from"}):
    """A field by its path, before and after; null where it is not there. Of a private key only that it changed."""

    path: str
    from_: Any
    to: Any


class ResourceChange(Struct):
    """A resource that is in both versions with other content."""

    type: TypeKey
    name: str
    fields: list[FieldChange]


class Diff(Struct, rename={"from_": "from"}):
    """What differs between two versions; `from` is null where nothing came before."""

    from_: str | None
    to: str
    from_seq: int
    to_seq: int
    added: list[ResourceName]
    removed: list[ResourceName]
    changed: list[ResourceChange]


class SourceError(Struct):
    """Something wrong with an input. `reason` is a CamelCase word, `object` kind, namespace and name of what is wrong."""

    message: str
    path: str
    line: int
    field: str
    document: int
    reason: str
    object: str


class Source(Struct):
    """How a source fares; `error` is its first standing problem, `errors` are at most 100 of them."""

    name: str
    kind: str
    synced: bool
    last_sync: Stamp | None
    objects: dict[str, int]
    error: SourceError | None
    errors: list[SourceError]


class Sources(Struct):
    """All sources, in the order in which they are configured."""

    sources: list[Source]


class Observation(Struct):
    """A fact from outside that a resource was made with."""

    observer: str
    key: str
    value: Any
    at: Stamp


class Explanation(Struct):
    """What made a resource."""

    group: str
    type: TypeKey
    name: str
    version: str
    objects: list[Origin]
    observations: list[Observation]


class Health(Struct):
    """`ok`, or why not."""

    status: str


class FieldError(Struct):
    """A parameter that is wrong, and why."""

    field: str
    message: str


class NameConflict(Struct):
    """A name that another owner holds."""

    type: TypeKey
    name: str
    holder: str


class Problem(Struct):
    """An error, as RFC 9457 has it. `conflicts` and `current` are told where a push was refused for them."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[FieldError]
    conflicts: list[NameConflict] | UnsetType = UNSET
    current: str | UnsetType | None = UNSET


def encode(value: object) -> bytes:
    """A shape as JSON."""
    return msgspec.json.encode(value)

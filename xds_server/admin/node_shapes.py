"""The shapes of the answers about nodes."""

from __future__ import annotations

from msgspec import Struct

from xds_server.admin.shapes import Origin, Stamp, TypeKey


class Subscribed(Struct):
    """What a node asks for: everything (`wildcard`), so many names, or both."""

    wildcard: bool
    names: int


class Sent(Struct):
    """The last response."""

    version: str
    nonce: str
    at: Stamp


class Acked(Struct):
    """The last version that the node accepted."""

    version: str
    at: Stamp


class NackError(Struct):
    """What the node says, in its own words; `code` is a gRPC status code."""

    code: int
    message: str


class Nacked(Struct):
    """A response that the node refused; `culprit` names the objects under suspicion."""

    version: str
    nonce: str
    at: Stamp
    error: NackError
    culprit: list[Origin]


class Waiting(Struct, rename={"for_": "for"}):
    """What the sequencer waits for: the node's answer about that type."""

    for_: TypeKey
    since: Stamp


class NodeType(Struct):
    """One type on one stream; `timeouts` counts the waits that ran out."""

    subscribed: Subscribed
    sent: Sent | None
    acked: Acked | None
    nacked: Nacked | None
    pending: bool
    waiting: Waiting | None
    timeouts: int


class Node(Struct):
    """One stream of one node; a node that left is shown for 60 s, as not connected.

    `identity` is what its certificate or token proves it to be; empty when it showed none.
    """

    id: str
    group: str
    cluster: str
    address: str
    protocol: str
    build: str
    connected: bool
    since: Stamp
    replica: str
    types: dict[str, NodeType]
    identity: str


class Nodes(Struct):
    """Streams on this replica, by the id of their nodes; `others` names the replicas that have nodes of their own."""

    nodes: list[Node]
    others: list[str]


class NodeById(Struct):
    """All streams of one id: two processes may share it (hot restart)."""

    id: str
    nodes: list[Node]


class NodeResource(Struct):
    """One resource on one node: the versions that it was sent last and has accepted, null for neither.

    `status` is CSDS's ConfigStatus: SYNCED, STALE (sent, not answered), ERROR (refused; `error` has the node's words),
    NOT_SENT (it has another version, or none, and is not offered this one yet), UNKNOWN (there is no such resource).
    """

    type: TypeKey
    name: str
    sent: str | None
    accepted: str | None
    status: str
    error: str | None


class NodeConfig(Struct):
    """What a node was sent, has accepted and refuses; of each type as the stream sees it that came last."""

    id: str
    resources: list[NodeResource]

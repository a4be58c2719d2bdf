"""Who a client is: the few facts that are kept of Envoy's Node message; the rest is dropped at once."""

from __future__ import annotations

from dataclasses import dataclass

from envoy.config.core.v3 import base_pb2

from xds_server.wire.decode import cut_field
from xds_server.wire.grouping import Grouping
from xds_server.wire.request import RequestError, decode

_LONGEST_ID = 1024
_MOST_METADATA = 4096
_ENVOY = "envoy"


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """What is kept of a node: identity, group, build ("1.40.0", or the user agent's own version text).

    `metadata` is its Struct as bytes, as long as it is small. `is_envoy` is what it says of itself.
    """

    id: str
    cluster: str
    group: str
    build: str
    metadata: bytes = b""
    is_envoy: bool = False


def parse_node(raw: bytes, grouping: Grouping) -> NodeInfo:
    """Read a Node message; `grouping` tells its group.

    Raises:
        RequestError: the bytes are not a Node, its id is empty, too long, or can't be shown, or its group can't.
    """
    node = base_pb2.Node()
    decode(node, raw, "the request's node is not a Node message")
    if not node.id:
        msg = "node.id is empty: every client needs an id of its own"
        raise RequestError(msg)
    if len(node.id) > _LONGEST_ID or not node.id.isprintable():
        msg = f"node.id must be printable and have at most {_LONGEST_ID} characters"
        raise RequestError(msg)
    group = grouping.group_of(node)
    if not group.isprintable():
        msg = "the node's group must be printable: it is named by its metadata tidegate.dev/group or its cluster"
        raise RequestError(msg)
    metadata = node.metadata.SerializeToString() if node.metadata.ByteSize() <= _MOST_METADATA else b""
    return NodeInfo(node.id, node.cluster, group, _build_of(node), metadata, node.user_agent_name == _ENVOY)


def _build_of(node: base_pb2.Node) -> str:
    if node.HasField("user_agent_build_version"):
        version = node.user_agent_build_version.version
        return f"{version.major_number}.{version.minor_number}.{version.patch}"
    return str(node.user_agent_version or node.user_agent_name)


def node_id(raw: bytes) -> str:
    """The id alone, for a cheap look at the nodes of later requests; "" when it is not the first field."""
    found, _ = cut_field(raw, 1)
    return (found or b"").decode(errors="replace")

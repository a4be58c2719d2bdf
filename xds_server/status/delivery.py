"""How far a group has come with what it is served, as the status of a gateway needs to know it."""

from __future__ import annotations

from dataclasses import dataclass

from xds_server.ir.gateway import GatewayKey
from xds_server.snapshot.groups import Group
from xds_server.snapshot.snapshot import Behind, LeftOut
from xds_server.status.tracker import NodeCounts, Tracker
from xds_server.wire.types import key_of

KIND = "DynamicGateway"
"""The kind of the objects that gateways are declared by."""


_NO_NODES = NodeCounts(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A group at one moment.

    `version` is what it is served, "" before anything is. `held` says by whom it is held at a version, `refusal` what a
    node that refuses something of it says; both "" where that is not so. `acked` is the last version that every
    connected node had. `behind` tells that a switch keeps it from what is declared. `left_out` is what of a gateway's own resources is not served, by gateway.
    """

    version: str = ""
    held: str = ""
    nodes: NodeCounts = _NO_NODES
    refusal: str = ""
    acked: str = ""
    left_out: tuple[tuple[GatewayKey, LeftOut], ...] = ()
    behind: Behind | None = None


def delivery_of(group: Group | None, tracker: Tracker, acked: str) -> Delivery:
    """How far a group has come by now; `acked` is the last version that every node had before."""
    if group is None or group.current is None:
        return Delivery(acked=acked)
    current = group.current
    nodes = tracker.counts(group.name)
    refusal = _refusal(group, tracker, nodes)
    is_everywhere = nodes.programmed and not refusal
    hold = current.held
    return Delivery(
        current.version,
        f"by {hold.by} at version {hold.to} (seq {hold.seq}): {hold.reason}" if hold is not None else "",
        nodes,
        refusal,
        current.version if is_everywhere else acked,
        tuple(
            (GatewayKey(origin.namespace, origin.name), each)
            for each in current.unserved
            for origin in each.origins
            if origin.kind == KIND
        ),
        group.behind,
    )


def _refusal(group: Group, tracker: Tracker, nodes: NodeCounts) -> str:
    """What a node says that refuses something; a content that no node took counts though its node has left."""
    for judgement in group.views.standing():
        resource = judgement.resource
        return f"{', '.join(judgement.nodes)}: {key_of(resource.type_url)} {resource.name!r}: {judgement.message}"
    if not nodes.nacked:
        return ""
    for node in tracker.nodes(group=group.name):
        for report in node.types.values():
            if node.connected and report.nacked is not None:
                return f"{node.id}: {report.nacked.message}"
    return f"{nodes.nacked} nodes"

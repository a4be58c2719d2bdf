"""How far a group has come with what it is served, as the status of a gateway needs to know it."""

from __future__ import annotations

from dataclasses import dataclass

from xds_server.ir.gateway import GatewayKey
from xds_server.snapshot.groups import Group
from xds_server.snapshot.snapshot import Behind, LeftOut
from xds_server.status.replicas import Elsewhere, Replicas
from xds_server.status.share import Refusal, share_of
from xds_server.status.tracker import NodeCounts, Tracker

KIND = "DynamicGateway"
"""The kind of the objects that gateways are declared by."""

_NO_NODES = NodeCounts(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A group at one moment, on all replicas as far as they are heard.

    `version` is what it is served, "" before anything is. `held` says by whom it is held at a version, `refusal` what a
    node that refuses something of it says; both "" where that is not so. `acked` is the last version that every
    connected node had. `behind` tells that a switch keeps it from what is declared. `left_out` is what of a gateway's own resources is not served, by gateway.
    `replicas` counts those that `nodes` are connected to, this one included; `lagging` and `unheard` are as in `Elsewhere`.
    """

    version: str = ""
    held: str = ""
    nodes: NodeCounts = _NO_NODES
    refusal: str = ""
    acked: str = ""
    left_out: tuple[tuple[GatewayKey, LeftOut], ...] = ()
    behind: Behind | None = None
    replicas: int = 1
    lagging: tuple[str, ...] = ()
    unheard: tuple[tuple[str, str], ...] = ()


def delivery_of(group: Group | None, tracker: Tracker, replicas: Replicas, acked: str) -> Delivery:
    """How far a group has come by now; `acked` is the last version that every node had before."""
    if group is None or group.current is None:
        return Delivery(acked=acked)
    current, own = group.current, share_of(group, tracker)
    others = replicas.elsewhere(group.name, current.version)
    nodes = NodeCounts(own.connected + others.connected, own.acked + others.acked, own.nacked + others.nacked)
    refusal = _refusal(own.refusal, others)
    is_everywhere = nodes.programmed and not refusal and not others.unheard
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
        1 + others.replicas,
        others.lagging,
        others.unheard,
    )


def _refusal(own: Refusal | None, others: Elsewhere) -> str:
    if own is not None:
        return str(own)
    return f"{others.refusal[1]} (on replica {others.refusal[0]})" if others.refusal is not None else ""

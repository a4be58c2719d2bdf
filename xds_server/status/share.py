"""A replica's share of a group: how far the Envoys have come that are connected to it. What replicas tell each other."""

from __future__ import annotations

from dataclasses import dataclass

from xds_server.snapshot.groups import Group
from xds_server.status.tracker import Tracker
from xds_server.wire.types import key_of


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a node says that refuses something; `type` and `name` are "" where it is not known of which resource."""

    node: str
    type: str
    name: str
    message: str

    def __str__(self) -> str:
        """As people read it."""
        return (
            f"{self.node}: {self.type} {self.name!r}: {self.message}" if self.name else f"{self.node}: {self.message}"
        )


@dataclass(frozen=True, slots=True)
class Share:
    """One group on one replica at one moment.

    `version` is what the group is served there, "" before anything is. `acked` and `nacked` of its `connected` nodes
    have accepted all of it, refuse something of it. `envoys` are those among which quotas are shared.
    """

    version: str = ""
    connected: int = 0
    acked: int = 0
    nacked: int = 0
    envoys: int = 0
    refusal: Refusal | None = None

    @property
    def is_settled(self) -> bool:
        """Whether every connected node has accepted the version, and nobody refuses anything of it."""
        return self.acked == self.connected and self.refusal is None


NOTHING = Share()
"""What there is to say of a group that a replica does not have."""


def share_of(group: Group | None, tracker: Tracker) -> Share:
    """How far a group has come by now on this replica."""
    if group is None or group.current is None:
        return NOTHING
    nodes = tracker.counts(group.name)
    refusal = _refusal(group, tracker, nodes.nacked)
    envoys = tracker.envoys(group.name)
    return Share(group.current.version, nodes.connected, nodes.acked, nodes.nacked, envoys, refusal)


def _refusal(group: Group, tracker: Tracker, nacked: int) -> Refusal | None:
    """What a node says that refuses something; a content that no node took counts though its node has left."""
    for judgement in group.views.standing():
        resource = judgement.resource
        return Refusal(", ".join(judgement.nodes), key_of(resource.type_url), resource.name, judgement.message)
    if not nacked:
        return None
    for node in tracker.nodes(group=group.name):
        for key, report in node.types.items():
            if node.connected and report.nacked is not None:
                return Refusal(node.id, key, "", report.nacked.message)
    return Refusal(f"{nacked} nodes", "", "", "they refuse something")

"""The shapes of `/v1/replica`: what replicas tell each other, written by one and read by the other. Fields may be added."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from xds_server.status.replicas import Report
from xds_server.status.share import Refusal, Share


class ShareRefusal(Struct):
    """What a node says that refuses something; `type` and `name` are "" where it is not known of which resource."""

    node: str
    type: str
    name: str
    message: str


class ReplicaGroup(Struct):
    """A group on this replica: the version that it serves ("" when the group is gone) and how many of its nodes have it.

    `envoys` are those among which `maxQps` is shared, each once.
    """

    group: str
    version: str
    connected: int
    acked: int
    nacked: int
    envoys: int
    refusal: ShareRefusal | None


class Replica(Struct):
    """What a replica tells. `instance` is new with each process; `leaving` says that the process ends.

    `groups` are all (`whole`), or those in which something has changed since `after`; `seq` is what to give as `after` next.
    """

    replica: str
    instance: str
    started: Annotated[float, Meta(description="POSIX seconds")]
    seq: int
    whole: bool
    leader: bool
    leaving: bool
    groups: list[ReplicaGroup]


def head_of(report: Report) -> dict[str, object]:
    """A report as it is sent, but for its groups."""
    return {
        "replica": report.replica,
        "instance": report.instance,
        "started": report.started,
        "seq": report.seq,
        "whole": report.whole,
        "leader": report.leader,
        "leaving": report.leaving,
    }


def group_of(name: str, share: Share) -> ReplicaGroup:
    """One of its groups."""
    refusal = share.refusal
    said = ShareRefusal(refusal.node, refusal.type, refusal.name, refusal.message) if refusal is not None else None
    return ReplicaGroup(name, share.version, share.connected, share.acked, share.nacked, share.envoys, said)


def report_of(told: Replica) -> Report:
    """A report as it was read."""
    shares = {each.group: _share(each) for each in told.groups}
    head = (told.replica, told.instance, told.started, told.seq, told.whole)
    return Report(*head, shares, told.leader, told.leaving)


def _share(told: ReplicaGroup) -> Share:
    said = told.refusal
    refusal = Refusal(said.node, said.type, said.name, said.message) if said is not None else None
    return Share(told.version, told.connected, told.acked, told.nacked, told.envoys, refusal)

"""The shapes of `/v1/replica`: what replicas tell each other, written by one and read by the other. Fields may be added."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from xds_server.ir.facts import Conclusion, RouteKey, Verdict
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


class Opinion(Struct):
    """What this replica goes by for a route that watches something; `verdict` is null where it has nothing to say any more.

    `since` is when the verdict last changed (POSIX seconds; 0: never), `was_over` whether it ever was over.
    """

    namespace: str
    gateway: str
    route: str
    verdict: Verdict | None
    since: float
    was_over: bool


class Replica(Struct):
    """What a replica tells. `instance` is new with each process; `leaving` says that the process ends.

    `groups` and `opinions` are all (`whole`), or those in which something has changed since `after`; `seq` is what to give as `after` next.
    """

    replica: str
    instance: str
    started: Annotated[float, Meta(description="POSIX seconds")]
    seq: int
    whole: bool
    leader: bool
    leaving: bool
    groups: list[ReplicaGroup]
    opinions: list[Opinion]


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


def opinion_of(route: RouteKey, found: Conclusion | None) -> Opinion:
    """What it goes by for one route."""
    if found is None:
        return Opinion(*route, None, 0.0, was_over=False)
    return Opinion(*route, found.verdict, found.since, found.was_over)


def report_of(told: Replica) -> Report:
    """A report as it was read."""
    shares = {each.group: _share(each) for each in told.groups}
    head = (told.replica, told.instance, told.started, told.seq, told.whole)
    opinions = {RouteKey(each.namespace, each.gateway, each.route): _conclusion(each) for each in told.opinions}
    return Report(*head, shares, opinions, told.leader, told.leaving)


def _conclusion(told: Opinion) -> Conclusion | None:
    return Conclusion(told.verdict, told.since, told.was_over) if told.verdict is not None else None


def _share(told: ReplicaGroup) -> Share:
    said = told.refusal
    refusal = Refusal(said.node, said.type, said.name, said.message) if said is not None else None
    return Share(told.version, told.connected, told.acked, told.nacked, told.envoys, refusal)

"""From the values of the layers below to the shapes of the answers; pure."""

from __future__ import annotations

from collections.abc import Sequence

from xds_server.admin import change_shapes, node_shapes, shapes
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.snapshot.feed import SourceReport
from xds_server.snapshot.groups import Group, Tally
from xds_server.snapshot.judgements import Judgement
from xds_server.snapshot.snapshot import Behind, Hold, LeftOut, Snapshot
from xds_server.status.audit_entry import Entry
from xds_server.status.config import Row
from xds_server.status.delivery import Delivery
from xds_server.status.node import NodeReport, TypeReport
from xds_server.status.stamps import stamp
from xds_server.status.state import OnDisk
from xds_server.status.tracker import NodeCounts
from xds_server.wire.types import KEY_BY_URL, key_of

MOST_ERRORS = 100
"""Problems of one source that are told."""


def origins(found: Sequence[Origin]) -> list[shapes.Origin]:
    """Where things were declared."""
    return [
        shapes.Origin(
            each.source,
            each.path,
            each.document,
            each.line,
            each.api_version,
            each.kind,
            each.namespace,
            each.name,
            each.generation,
        )
        for each in found
    ]


def fleet(found: Delivery) -> shapes.Fleet:
    """A group on all replicas."""
    nodes = found.nodes
    programmed = nodes.programmed and not found.refusal
    is_unsure = bool(found.unheard) and not found.refusal and nodes.acked == nodes.connected
    return shapes.Fleet(
        found.replicas,
        shapes.NodeCounts(nodes.connected, nodes.acked, nodes.nacked),
        None if is_unsure else programmed,
        list(found.lagging),
        [name or problem for name, problem in found.unheard],
    )


def group(
    found: Group, nodes: NodeCounts, on_disk: OnDisk | None = None, fleet: shapes.Fleet | None = None
) -> shapes.Group:
    """A group with its current snapshot."""
    current = found.current or Snapshot(found.name, 0, 0.0)
    published = found.current is not None
    standing = found.views.standing()
    programmed = nodes.programmed and not standing
    return shapes.Group(
        name=found.name,
        version=current.version if published else "",
        seq=current.seq,
        created=stamp(current.created) if published else None,
        origin=shapes.Change(current.origin.source, current.origin.change),
        counts=counts(current),
        types={key_of(url): shapes.TypeVersion(current.typeset(url).version) for url in _urls(current)},
        nodes=shapes.NodeCounts(nodes.connected, nodes.acked, nodes.nacked),
        programmed=programmed,
        reason=None if programmed else _reason(nodes, standing),
        stored=on_disk.snapshot if on_disk else None,
        held=_held(current.held, on_disk) if current.held else None,
        behind=_behind(found.behind) if found.behind is not None else None,
        left_out=[left_out(each) for each in current.unserved],
        withheld=[_withheld(each) for each in standing],
        fleet=fleet,
    )


def _reason(nodes: NodeCounts, standing: Sequence[Judgement]) -> str:
    """Why a version is not programmed, in a sentence."""
    if standing:
        resource, more = standing[0].resource, f" (and {len(standing) - 1} more)" if len(standing) > 1 else ""
        by = ", ".join(standing[0].nodes)
        return f"{key_of(resource.type_url)} {resource.name!r}{more} was refused by {by}, and no node has accepted it"
    if not nodes.connected:
        return "no node is connected"
    if nodes.nacked:
        return f"{nodes.nacked} of {nodes.connected} nodes refuse a part of it"
    return f"{nodes.connected - nodes.acked} of {nodes.connected} nodes have not accepted all of it yet"


def _withheld(judgement: Judgement) -> shapes.Withheld:
    resource, stand_in = judgement.resource, judgement.stand_in
    return shapes.Withheld(
        key_of(resource.type_url),
        resource.name,
        resource.version,
        stand_in.version if stand_in is not None else None,
        judgement.message,
        list(judgement.nodes),
        origins(resource.origins),
    )


def _behind(found: Behind) -> shapes.Behind:
    return shapes.Behind(found.version, found.reason, found.message)


def hold(found: Hold) -> shapes.Hold:
    """A rollback that holds, or held."""
    return shapes.Hold(found.to, found.by, found.reason, stamp(found.since))


def _held(found: Hold, on_disk: OnDisk | None) -> shapes.Held:
    stored = on_disk.hold if on_disk else None
    return shapes.Held(found.to, found.by, found.reason, stamp(found.since), stored)


def entry(found: Entry) -> change_shapes.AuditEntry:
    """An entry of the audit log."""
    return change_shapes.AuditEntry(
        found.id,
        stamp(found.at),
        found.actor,
        found.action,
        found.target,
        found.reason,
        found.before,
        found.after,
        found.version,
    )


def counts(snapshot: Snapshot) -> dict[str, int]:
    """Resources by type: the five always, others where there are any."""
    numbers = {key_of(url): len(snapshot.typeset(url)) for url in _urls(snapshot)}
    return {key: number for key, number in numbers.items() if number or key in KEY_BY_URL.values()}


def left_out(found: LeftOut) -> shapes.LeftOut:
    """A resource that is left out."""
    return shapes.LeftOut(key_of(found.type_url), found.name, found.reason, found.message, origins(found.origins))


def version(snapshot: Snapshot, tally: Tally) -> shapes.Version:
    """A snapshot in the list of versions."""
    return shapes.Version(
        snapshot.seq,
        snapshot.version,
        stamp(snapshot.created),
        shapes.Change(snapshot.origin.source, snapshot.origin.change),
        counts(snapshot),
        tally.acked,
        tally.nacked,
        tally.trace or None,
    )


def node(report: NodeReport, replica: str) -> node_shapes.Node:
    """One stream."""
    return node_shapes.Node(
        report.id,
        report.group,
        report.cluster,
        report.address,
        report.protocol,
        report.build,
        report.connected,
        stamp(report.since),
        replica,
        {key: _node_type(each) for key, each in report.types.items()},
        report.identity,
    )


def node_resource(row: Row) -> node_shapes.NodeResource:
    """One resource on one node."""
    error = row.said.message if row.said is not None else None
    return node_shapes.NodeResource(key_of(row.type_url), row.name, row.sent, row.accepted, row.status.value, error)


def source(report: SourceReport) -> shapes.Source:
    """A source."""
    errors = [source_error(problem) for problem in report.problems[:MOST_ERRORS]]
    return shapes.Source(
        report.name,
        report.kind,
        report.synced,
        stamp(report.last_sync) if report.last_sync else None,
        dict(report.objects),
        errors[0] if errors else None,
        errors,
    )


def _urls(snapshot: Snapshot) -> list[str]:
    """The five types, then whatever else the snapshot has."""
    return [*KEY_BY_URL, *sorted(snapshot.types.keys() - KEY_BY_URL.keys())]


def _node_type(report: TypeReport) -> node_shapes.NodeType:
    sent, acked, nacked = report.sent, report.acked, report.nacked
    return node_shapes.NodeType(
        node_shapes.Subscribed(report.wildcard, report.names),
        node_shapes.Sent(sent.version, sent.nonce, stamp(sent.at)) if sent else None,
        node_shapes.Acked(acked.version, stamp(acked.at)) if acked else None,
        node_shapes.Nacked(
            nacked.version,
            nacked.nonce,
            stamp(nacked.at),
            node_shapes.NackError(nacked.code, nacked.message),
            origins(nacked.culprit),
        )
        if nacked
        else None,
        report.pending,
        node_shapes.Waiting(report.waits_for, stamp(report.waits_since)) if report.waits_for else None,
        report.timeouts,
    )


def source_error(problem: Problem) -> shapes.SourceError:
    """A problem of a source."""
    origin = problem.origin
    return shapes.SourceError(
        problem.message, origin.path, origin.line, problem.field, origin.document, problem.reason, origin.identity
    )

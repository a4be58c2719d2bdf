"""Between snapshots and the records of `proto/history.proto`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xds_server.ir.origin import Origin
from xds_server.ir.refs import NO_REFS, Refs
from xds_server.snapshot.history.vault import Vault
from xds_server.snapshot.snapshot import Change, Hold, LeftOut, Snapshot
from xds_server.snapshot.typeset import empty
from xds_server.wire.gen import history_pb2 as pb
from xds_server.wire.history import parse_snapshot
from xds_server.wire.resource import Held, Resource

_RESOURCES_PER_RECORD = 100
"""A large snapshot is many records, so that nobody has to hold, or to encode, all of it at once."""


class StoredError(ValueError):
    """A record does not mean what it should; the text says how."""


@dataclass(slots=True)
class Stored:
    """One snapshot as it was read: its head, all that differs from the one before, and where it ends in the file."""

    head: pb.Snapshot
    changes: list[pb.Changes] = field(default_factory=list)
    left_out: pb.AllLeftOut | None = None
    end: int = 0


def encode(snapshot: Snapshot, before: Snapshot | None, vault: Vault) -> Iterator[bytes]:
    """The records of a snapshot as what differs from the one before it; of all of it without one."""
    record = pb.Snapshot(
        group=_text(snapshot.group),
        seq=snapshot.seq,
        version=snapshot.version,
        created=snapshot.created,
        source=_text(snapshot.origin.source),
        change=_text(snapshot.origin.change),
    )
    if snapshot.held is not None:
        hold = snapshot.held
        record.hold.CopyFrom(
            pb.Hold(to=hold.to, seq=hold.seq, by=_text(hold.by), reason=_text(hold.reason), since=hold.since)
        )
    if before is None or before.left_out != snapshot.left_out:
        record.left_out.CopyFrom(pb.AllLeftOut(left_out=[_left_out(each) for each in snapshot.left_out]))
    room = _RESOURCES_PER_RECORD
    for part in _changes(snapshot, before, vault):
        if room <= 0:
            record.more = True
            yield record.SerializeToString()
            record = pb.Snapshot(group=record.group, seq=record.seq)
            room = _RESOURCES_PER_RECORD
        record.changes.append(part)
        room -= len(part.set)
    yield record.SerializeToString()


def decode(records: Iterable[tuple[bytes, int]]) -> Iterator[Stored]:
    """The snapshots of a file's records, each with the position at which it ends; one that is not whole is left out.

    Raises:
        StoredError: A record is none.
    """
    current: Stored | None = None
    for raw, end in records:
        record = parse_snapshot(raw)
        if record is None:
            raise StoredError("a record can't be parsed")
        if current is None:
            current = Stored(record, left_out=record.left_out if record.HasField("left_out") else None)
        current.changes.extend(record.changes)
        if not record.more:
            current.end = end
            yield current
            current = None


def resource_of(type_url: str, record: pb.Resource, vault: Vault) -> Resource:
    """The resource of a record; a `Held` one where its bytes are not known.

    Raises:
        StoredError: Its bytes are not those of its version.
    """
    refs = Refs(*(frozenset(names) for names in (record.clusters, record.assignments, record.routes, record.secrets)))
    origins = tuple(_origin_of(each) for each in record.origins)
    kind = record.WhichOneof("content")
    body: bytes | None = record.body if kind == "body" else None
    if kind == "sealed":
        body = vault.unseal(type_url, record.name, record.version, record.sealed)
    if body is None:
        return Held(record.name, type_url, record.version, refs or NO_REFS, origins)
    resource = Resource(record.name, type_url, body, refs or NO_REFS, origins)
    if resource.version != record.version:
        raise StoredError(f"{type_url.rpartition('.')[2]} {record.name!r} is not what was stored")
    return resource


def left_out_of(stored: pb.AllLeftOut) -> tuple[LeftOut, ...]:
    """What was left out."""
    return tuple(
        LeftOut(each.type_url, each.name, each.reason, each.message, tuple(map(_origin_of, each.origins)), each.partial)
        for each in stored.left_out
    )


def change_of(head: pb.Snapshot) -> Change:
    """What made the snapshot."""
    return Change(head.source, head.change)


def hold_of(head: pb.Snapshot) -> Hold | None:
    """The rollback that it was published under."""
    hold = head.hold
    return Hold(hold.to, hold.seq, hold.by, hold.reason, hold.since) if head.HasField("hold") else None


def _changes(snapshot: Snapshot, before: Snapshot | None, vault: Vault) -> Iterator[pb.Changes]:
    """What differs, in parts of a bounded size; of a first snapshot every type is named, though it be empty."""
    for url in sorted(snapshot.types):
        typeset = snapshot.types[url]
        older = before.types.get(url) if before is not None else None
        if older is typeset:
            continue
        difference = typeset.compare(older or empty(url))
        removed = list(difference.removed)
        for name in removed:
            vault.forget(url, name)
        for start in range(0, max(len(difference.changed), 1), _RESOURCES_PER_RECORD):
            part = difference.changed[start : start + _RESOURCES_PER_RECORD]
            yield pb.Changes(type_url=url, set=[record_of(each, vault) for each in part], removed=removed)
            removed = []


def record_of(resource: Resource, vault: Vault) -> pb.Resource:
    """The record of a resource, without its bytes or with encrypted ones where they hold a secret."""
    refs = resource.refs
    record = pb.Resource(name=resource.name, version=resource.version)
    if refs:
        record.clusters.extend(sorted(refs.clusters))
        record.assignments.extend(sorted(refs.assignments))
        record.routes.extend(sorted(refs.routes))
        record.secrets.extend(sorted(refs.secrets))
    record.origins.extend(_origin(each) for each in resource.origins)
    if isinstance(resource, Held):
        return record
    if not vault.hides(resource):
        record.body = resource.body
    elif (sealed := vault.seal(resource)) is not None:
        record.sealed = sealed
    return record


def _left_out(each: LeftOut) -> pb.LeftOut:
    return pb.LeftOut(
        type_url=each.type_url,
        name=_text(each.name),
        reason=each.reason,
        message=_text(each.message),
        origins=[_origin(origin) for origin in each.origins],
        partial=each.partial,
    )


def _origin(origin: Origin) -> pb.Origin:
    return pb.Origin(
        source=origin.source,
        path=_text(origin.path),
        document=origin.document,
        line=origin.line,
        api_version=_text(origin.api_version),
        kind=_text(origin.kind),
        namespace=_text(origin.namespace),
        name=_text(origin.name),
        generation=origin.generation,
    )


def _origin_of(record: pb.Origin) -> Origin:
    return Origin(
        record.source,
        record.path,
        record.document,
        record.line,
        record.api_version,
        record.kind,
        record.namespace,
        record.name,
        record.generation,
    )


def _text(text: str) -> str:
    """A text that protobuf takes: a path may hold what is no Unicode."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()

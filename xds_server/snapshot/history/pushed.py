"""The sets that outside programs own, on disk: one file of changes, written anew when it has grown to twice its need."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from xds_server.ir.declared import EncodedDocument
from xds_server.ir.origin import Origin
from xds_server.snapshot.history.appended import Appended
from xds_server.snapshot.history.frames import Damage, frame, read_frames
from xds_server.snapshot.history.last_good import Fault, set_aside
from xds_server.snapshot.history.records import StoredError, record_of, resource_of
from xds_server.snapshot.history.vault import Vault
from xds_server.snapshot.history.writer import Writer
from xds_server.sources.push.model import Changed, Name, Place, PushedSet
from xds_server.wire.gen import history_pb2 as pb
from xds_server.wire.history import parse_pushed
from xds_server.wire.resource import Held, Resource

_PER_RECORD = 500
"""Resources; a large set is many records."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A change as it is stored. `version` is None when the set is gone."""

    place: Place
    version: str | None
    lease: float | None
    set: Mapping[Name, EncodedDocument] = field(default_factory=dict)
    removed: Sequence[Name] = ()


class PushedFile:
    """Holds what is in force as it is told, so that the file can be written anew at any time."""

    def __init__(self, path: Path, vault: Vault, failed: Callable[[OSError], None]) -> None:
        """Read what is there. Blocks.

        Raises:
            OSError: it can't be read.
        """
        self.faults: list[Fault] = []
        self._path = path
        self._vault = vault
        self._failed = failed
        self._sets: dict[Place, PushedSet] = {}
        self._lock = threading.Lock()
        self._file = Appended(path)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._read()
        self.restored = {
            place: PushedSet(each.version, dict(each.resources), each.lease) for place, each in self._all()
        }
        self.writer: Writer[_Part] = Writer(self._write, self._note_failure, path)

    def keep(self, changed: Changed) -> None:
        """Have a change stored some time soon, unless it only renews a lease; to be called on the event loop."""
        pushed = changed.pushed
        part = _Part(
            changed.place,
            pushed.version if pushed is not None else None,
            pushed.lease if pushed is not None else None,
            changed.set,
            changed.removed,
        )
        old = self._sets.get(part.place)
        is_renewal = old is not None and (old.version, old.lease) == (part.version, part.lease)
        if is_renewal and not part.set and not part.removed:
            return
        with self._lock:
            self._take(part)
        self.writer.add(part)

    def _all(self) -> list[tuple[Place, PushedSet]]:
        return list(self._sets.items())

    def _take(self, part: _Part) -> None:
        if part.version is None:
            self._sets.pop(part.place, None)
            return
        pushed = self._sets.setdefault(part.place, PushedSet(part.version))
        pushed.version, pushed.lease = part.version, part.lease
        for name in part.removed:
            pushed.resources.pop(name, None)
        pushed.resources.update(part.set)

    def _write(self, parts: Sequence[_Part]) -> None:
        """Append, or write everything anew: the first time, after an error, and when changes outweigh."""
        if self._file.is_due:
            with self._lock:
                parts = [_Part(place, each.version, each.lease, dict(each.resources)) for place, each in self._all()]
            self._file.rewrite(self._encoded(parts))
            return
        self._file.append(self._encoded(parts))

    def _note_failure(self, error: OSError) -> None:
        self._file.spoil()
        self._failed(error)

    def _encoded(self, parts: Iterable[_Part]) -> bytes:
        return b"".join(frame(record.SerializeToString()) for part in parts for record in self._records(part))

    def _records(self, part: _Part) -> Iterator[pb.Pushed]:
        documents = iter(part.set.values())
        removed: dict[str, list[str]] = {}
        for type_url, name in part.removed:
            removed.setdefault(type_url, []).append(name)
        first = [pb.Changes(type_url=url, removed=names) for url, names in removed.items()]
        batch = list(islice(documents, _PER_RECORD))
        while True:
            record = pb.Pushed(owner=part.place.owner, group=part.place.group, gone=part.version is None)
            record.version, record.lease = part.version or "", part.lease or 0.0
            record.changes.extend([*first, *(self._change(each) for each in batch)])
            first, batch = [], list(islice(documents, _PER_RECORD))
            record.more = bool(batch)
            yield record
            if not batch:
                return

    def _change(self, document: EncodedDocument) -> pb.Changes:
        origins = (document.origin,)
        made = Resource(document.name, document.type_url, document.body, origins=origins)
        held = Held(document.name, document.type_url, "", origins=origins) if not document.body else made
        return pb.Changes(type_url=document.type_url, set=[record_of(held, self._vault)])

    def _read(self) -> None:
        if not self._path.exists():
            return
        frames = read_frames(self._path.read_bytes())
        why = "a checksum is wrong" if frames.damage is Damage.CORRUPT else ""
        try:
            for part in self._parts(raw for raw, _ in frames.records):
                self._take(part)
        except StoredError as error:
            why = str(error)
        if why:
            self.faults.append(set_aside(self._path, f"{why}; {len(self._sets)} sets before that are whole"))

    def _parts(self, records: Iterable[bytes]) -> Iterator[_Part]:
        """The changes of a file; one that is not whole at the end is left out, since nobody was told that it was taken."""
        changes: list[pb.Changes] = []
        for raw in records:
            record = parse_pushed(raw)
            if record is None:
                raise StoredError("a record can't be parsed")
            changes += record.changes
            if record.more:
                continue
            place = Place(record.owner, record.group)
            made = {}
            for each in changes:
                for stored in each.set:
                    made[each.type_url, stored.name] = self._document(place, each.type_url, stored)
            removed = [(each.type_url, name) for each in changes for name in each.removed]
            yield _Part(place, None if record.gone else record.version, record.lease or None, made, removed)
            changes = []

    def _document(self, place: Place, type_url: str, stored: pb.Resource) -> EncodedDocument:
        resource = resource_of(type_url, stored, self._vault)
        origin = resource.origins[0] if resource.origins else Origin("")
        return EncodedDocument(place.group, type_url, resource.name, resource.body, origin)

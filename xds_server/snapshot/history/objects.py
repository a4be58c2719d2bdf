"""The objects in force, on disk: one file of changes, written anew when it has grown to twice its need.

What is declared and can't be read after a restart has its last good form from here. See `docs/design/004`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from xds_server.ir.objects import Object, ObjectKey
from xds_server.ir.origin import Origin
from xds_server.snapshot.history.appended import Appended
from xds_server.snapshot.history.frames import Damage, frame, read_frames
from xds_server.snapshot.history.last_good import Fault, set_aside
from xds_server.snapshot.history.vault import Vault
from xds_server.snapshot.history.writer import Writer
from xds_server.snapshot.objects import LastGood
from xds_server.snapshot.places import place_of
from xds_server.sources.base import DecodeObject
from xds_server.wire.resource import Resource

_SECRET = ("", "Secret")
"""API group and kind of the objects whose content is not stored as it is."""

Changes = Mapping[ObjectKey, Object | None]


class _Record(msgspec.Struct, frozen=True, array_like=True):
    """One change. Without `origin` the object is gone; without `body` its content is withheld, or in `sealed`."""

    key: ObjectKey
    origin: Origin | None = None
    folder_group: str = ""
    body: bytes | None = None
    sealed: bytes | None = None
    version: str = ""


class ObjectFile:
    """Holds what is in force as it is told, so that the file can be written anew at any time."""

    def __init__(self, path: Path, vault: Vault, decode: DecodeObject, failed: Callable[[OSError], None]) -> None:
        """Read what is there. Blocks.

        Raises:
            OSError: It can't be read.
        """
        self.faults: list[Fault] = []
        self._path = path
        self._vault = vault
        self._failed = failed
        self._objects: dict[ObjectKey, Object] = {}
        self._written: dict[ObjectKey, Object] = {}
        self._lock = threading.Lock()
        self._file = Appended(path)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.restored = self._restore(decode)
        self.writer: Writer[Changes] = Writer(self._write, self._note_failure, path)

    def keep(self, changes: Changes) -> None:
        """Have changes stored some time soon; to be called on the event loop."""
        with self._lock:
            for key, each in changes.items():
                if each is None:
                    self._objects.pop(key, None)
                else:
                    self._objects[key] = each
        self.writer.add(changes)

    def _write(self, parts: Sequence[Changes]) -> None:
        """Append, or write everything anew: the first time, after an error, and when changes outweigh."""
        if self._file.is_due:
            with self._lock:
                self._written = dict(self._objects)
            self._file.rewrite(self._encoded(self._written))
            return
        changes = self._changed(parts)
        if not changes:
            return
        self._file.append(self._encoded(changes))

    def _note_failure(self, error: OSError) -> None:
        self._file.spoil()
        self._failed(error)

    def _changed(self, parts: Sequence[Changes]) -> dict[ObjectKey, Object | None]:
        """What is not as it was written last, and is so from now on: a file that is read anew tells of all its objects."""
        changes = {key: each for part in parts for key, each in part.items()}
        found = {key: each for key, each in changes.items() if not _alike(self._written.get(key), each)}
        for key, each in found.items():
            if each is None:
                del self._written[key]
            else:
                self._written[key] = each
        return found

    def _encoded(self, changes: Changes) -> bytes:
        records = (self._record(key, each) for key, each in changes.items())
        return b"".join(frame(msgspec.msgpack.encode(record)) for record in records)

    def _record(self, key: ObjectKey, declared: Object | None) -> _Record:
        if declared is None:
            return _Record(key)
        origin, group, body = declared.origin, declared.folder_group, msgspec.json.encode(declared.value)
        if (key.api_group, key.kind) != _SECRET:
            return _Record(key, origin, group, body)
        hidden = Resource(str(key), key.kind, body)
        return _Record(key, origin, group, None, self._vault.seal(hidden), hidden.version)

    def _restore(self, decode: DecodeObject) -> LastGood:
        records = self._read()
        objects: list[Object] = []
        withheld: list[Origin] = []
        for record in records.values():
            found = self._decoded(record, decode)
            if found is not None:
                objects.append(found)
            elif record.origin is not None:
                withheld.append(record.origin)
        return LastGood(objects, withheld)

    def _decoded(self, record: _Record, decode: DecodeObject) -> Object | None:
        """The object of a record; None where its content is not known, or not taken any more."""
        body = record.body
        if body is None and record.sealed is not None:
            body = self._vault.unseal(record.key.kind, str(record.key), record.version, record.sealed)
        if body is None or record.origin is None:
            return None
        found = decode(msgspec.json.decode(body), record.origin, record.folder_group)
        # The form may be of another version of its kind than what was declared.
        return replace(found, origin=record.origin) if isinstance(found, Object) else None

    def _read(self) -> dict[ObjectKey, _Record]:
        """The records of what is in force. Of a file that is corrupt nothing is taken: half of it is not what was."""
        if not self._path.exists():
            return {}
        frames = read_frames(self._path.read_bytes())
        found: dict[ObjectKey, _Record] = {}
        why = "a checksum is wrong" if frames.damage is Damage.CORRUPT else ""
        try:
            for raw, _ in frames.records:
                record = msgspec.msgpack.decode(raw, type=_Record)
                found.pop(record.key, None)
                if record.origin is not None:
                    found[record.key] = record
        except msgspec.MsgspecError as error:
            why = str(error)
        if not why:
            return found
        self.faults.append(set_aside(self._path, f"{why}; what can't be read is not known in its last good form"))
        return {}


def _alike(one: Object | None, other: Object | None) -> bool:
    """Whether two forms are equal but for the lines they stand in."""
    if one is None or other is None:
        return one is other
    return (one.value, one.folder_group, place_of(one.origin)) == (
        other.value,
        other.folder_group,
        place_of(other.origin),
    )

"""Reads what was served back from disk: every snapshot that is whole, whatever happened to the files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xds_server.snapshot.history.frames import Damage, read_frames
from xds_server.snapshot.history.records import (
    Stored,
    StoredError,
    change_of,
    decode,
    hold_of,
    left_out_of,
    resource_of,
)
from xds_server.snapshot.history.segments import SUFFIX, Bounds, Segment, write_whole
from xds_server.snapshot.history.vault import Vault
from xds_server.snapshot.snapshot import LeftOut, Snapshot
from xds_server.snapshot.typeset import Typeset, empty
from xds_server.wire.gen import history_pb2 as pb
from xds_server.wire.resource import Resource

_SET_ASIDE_KEPT = 3


@dataclass(frozen=True, slots=True)
class Fault:
    """What was wrong with a file: why, where it lies now ("" where nothing was set aside)."""

    path: str
    message: str
    set_aside: str = ""


@dataclass(slots=True)
class Restored:
    """What was read of one group: its snapshots, oldest first, the files they are in, and what was wrong."""

    snapshots: list[Snapshot] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


@dataclass(slots=True)
class _File:
    path: Path
    data: bytes = b""
    stored: list[Stored] = field(default_factory=list)
    damage: Damage | None = None
    why: str = ""

    @property
    def end(self) -> int:
        """Where what is whole ends."""
        return self.stored[-1].end if self.stored else 0

    def cut(self, position: int, why: str) -> None:
        """Note that from a snapshot on it is corrupt."""
        del self.stored[position:]
        self.damage, self.why = Damage.CORRUPT, why


def restore_group(folder: Path, bounds: Bounds, vault: Vault, now: float) -> Restored:
    """Read a group's folder, and repair it: what is torn is cut off, what is corrupt set aside."""
    restored = Restored()
    files: list[_File] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            files.append(_read(path))
        except OSError as error:
            restored.faults.append(Fault(str(path), f"can't be read: {error.strerror}"))
    restored.snapshots = _replay(files, bounds, vault, now)
    for file in files:
        if file.damage is not None:
            restored.faults.append(_repair(file))
        if file.stored:
            restored.segments.append(Segment(file.path, {each.head.seq: each.head.created for each in file.stored}))
    for draft in folder.glob("*.draft"):
        draft.unlink(missing_ok=True)
    return restored


def _read(path: Path) -> _File:
    file = _File(path, path.read_bytes())
    frames = read_frames(file.data)
    file.damage = frames.damage
    file.why = "its end was not written" if frames.damage is Damage.TORN else "a checksum is wrong"
    try:
        file.stored.extend(decode(frames.records))
    except StoredError as error:
        file.damage, file.why = Damage.CORRUPT, str(error)
    if file.damage is None and file.end != len(file.data):
        file.damage, file.why = Damage.TORN, "its end was not written"
    if not file.stored:
        # What ends before its first snapshot does was not written so: a base is whole before it gets its name.
        file.damage, file.why = Damage.CORRUPT, f"its first snapshot is not whole: {file.why}"
    return file


def _replay(files: Sequence[_File], bounds: Bounds, vault: Vault, now: float) -> list[Snapshot]:
    """The newest snapshots within the bounds; the last one, and what it is held at, in any case. Files that are wrong are cut."""
    while True:
        order = [(file, position) for file in files for position in range(len(file.stored))]
        replay = _Replay(vault)
        oldest = max(len(order) - bounds.count, 0)
        held = hold_of(order[-1][0].stored[order[-1][1]].head) if order else None
        for index, (file, position) in enumerate(order):
            stored = file.stored[position]
            replay.read(stored, is_base=position == 0)
            is_wanted = index == len(order) - 1 or (held is not None and held.seq == stored.head.seq)
            if not is_wanted and (index < oldest or stored.head.created < now - bounds.age):
                continue
            try:
                replay.keep(stored)
            except StoredError as error:
                file.cut(position, str(error))
                break
        else:
            return replay.snapshots


class _Replay:
    """Goes through what was stored in its order. Only what is kept is made into typesets, and so costs much."""

    def __init__(self, vault: Vault) -> None:
        self.snapshots: list[Snapshot] = []
        self._vault = vault
        self._records: dict[str, dict[str, pb.Resource]] = {}
        self._changed: dict[str, set[str]] = {}
        self._types: dict[str, Typeset] = {}
        self._left_out: tuple[LeftOut, ...] = ()

    def read(self, stored: Stored, *, is_base: bool) -> None:
        """Take a snapshot's changes in."""
        if is_base:
            for url, records in self._records.items():
                self._changed.setdefault(url, set()).update(records)
            self._records = {}
            self._left_out = ()
        for changes in stored.changes:
            records = self._records.setdefault(changes.type_url, {})
            changed = self._changed.setdefault(changes.type_url, set())
            for name in changes.removed:
                records.pop(name, None)
                changed.add(name)
            for record in changes.set:
                records[record.name] = record
                changed.add(record.name)
        if stored.left_out is not None:
            self._left_out = left_out_of(stored.left_out)

    def keep(self, stored: Stored) -> None:
        """Make the snapshot that was read last.

        Raises:
            StoredError: It is not what was stored.
        """
        types = {url: self._typeset(url) for url in self._records}
        head = stored.head
        snapshot = Snapshot(head.group, head.seq, head.created, types, self._left_out, change_of(head), hold_of(head))
        if snapshot.version != head.version:
            raise StoredError(f"the contents of seq {head.seq} are not those of its version")
        self._types, self._changed = types, {}
        while self.snapshots and self.snapshots[-1].seq >= snapshot.seq:
            self.snapshots.pop()  # written again after an error
        self.snapshots.append(snapshot)

    def _typeset(self, url: str) -> Typeset:
        before = self._types.get(url) or empty(url)
        records = self._records[url]
        changes: dict[str, Resource | None] = {}
        for name in self._changed.get(url, ()):
            record = records.get(name)
            if record is None:
                changes[name] = None
            elif before.version_of(name) != record.version:
                changes[name] = resource_of(url, record, self._vault)
        return before.evolve(changes)


def _repair(file: _File) -> Fault:
    """Leave only what is whole under the file's name; of a corrupt one a copy stays beside it, the newest three."""
    path = file.path
    try:
        if file.damage is Damage.TORN:
            write_whole(path, file.data[: file.end])
            return Fault(str(path), f"{len(file.data) - file.end} bytes at its end were not whole and are cut off")
        aside = _rename(path)
        if file.stored:
            write_whole(path, file.data[: file.end])
    except OSError as error:
        return Fault(str(path), f"{file.why}; it can't be repaired: {error.strerror}")
    return Fault(str(path), f"{file.why}; {len(file.stored)} snapshots before that are whole", str(aside))


def set_aside(path: Path, why: str) -> Fault:
    """Rename a file that is wrong, of which the newest three stay beside it."""
    try:
        return Fault(str(path), why, str(_rename(path)))
    except OSError as error:
        return Fault(str(path), f"{why}; it can't be set aside: {error.strerror}")


def _rename(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.corrupt-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
    path.rename(aside)
    for old in sorted(path.parent.glob("*.corrupt-*"), key=_corrupt_since)[:-_SET_ASIDE_KEPT]:
        old.unlink(missing_ok=True)
    return aside


def _corrupt_since(path: Path) -> str:
    return path.name.rpartition(".corrupt-")[2]

"""The audit log on disk: a line of JSON for each entry; two files for each roll."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import structlog

from xds_server.snapshot.history.writer import Writer
from xds_server.status.audit_entry import KEPT, Entry, Roll

_log = structlog.get_logger()


class Journal:
    """A folder with the entries of this process and those before it. `restored` are in the order of their ids."""

    def __init__(self, folder: Path, failed: Callable[[OSError], None]) -> None:
        """Read what is there. Blocks.

        Raises:
            OSError: The folder can't be used.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._rolls = {roll: _Lines(folder / f"{roll}.jsonl") for roll in Roll}
        found = [entry for lines in self._rolls.values() for entry in lines.read()]
        self.restored = sorted(found, key=lambda entry: entry.id)
        self.writer: Writer[Entry] = Writer(self._write, failed, folder)

    @property
    def last_id(self) -> int:
        """The highest id of a restored entry, 0 if there is none."""
        return self.restored[-1].id if self.restored else 0

    def _write(self, entries: Sequence[Entry]) -> None:
        for roll, lines in self._rolls.items():
            lines.append([entry for entry in entries if entry.roll is roll])


class _Lines:
    """A file of lines, and the one that was full before it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._older = path.with_suffix(".1.jsonl")
        self._lines = 0

    def read(self) -> list[Entry]:
        """All entries; a line that is none is left out, and that is logged."""
        older, newer = _split(self._older), _split(self._path)
        self._lines = len(newer)
        found: list[Entry] = []
        wrong = 0
        for line in (*older, *newer):
            try:
                found.append(msgspec.json.decode(line, type=Entry))
            except (msgspec.DecodeError, UnicodeDecodeError):
                wrong += 1
        if wrong:
            _log.warning("audit_lines_damaged", path=str(self._path), lines=wrong)
        return found

    def append(self, entries: Sequence[Entry]) -> None:
        """Add lines, so that they outlive the machine."""
        if not entries:
            return
        if self._lines >= KEPT // 2:
            self._path.replace(self._older)
            self._lines = 0
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            # After a kill the last line may have no end: the next one must not go on with it.
            start = b"" if _ends_with_line(descriptor) else b"\n"
            file.write(start + b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
            file.flush()
            os.fdatasync(descriptor)
        self._lines += len(entries)


def _split(path: Path) -> list[bytes]:
    try:
        return [line for line in path.read_bytes().split(b"\n") if line]
    except FileNotFoundError:
        return []


def _ends_with_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"

"""One look at a directory after another: finds what changed, reads and parses it. Blocking, so it runs in a thread."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from xds_server.ir.declared import Unit
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.sources.base import DecodeObject
from xds_server.sources.files.content import ChangedError, UnreadableError, read
from xds_server.sources.files.parse import FilePlace, broken, parse, unsupported
from xds_server.sources.files.scan import Scan, group_of, rescan, scan
from xds_server.sources.files.settle import Heard, Settle

_LOOKS = 5
"""How often a path that is read once is looked at while files change between the look and the reading."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found.

    `error` is the problem of the path as a whole, while which nothing else is told. `wait` is the time in seconds
    after which something that is not settled yet will be; None when all is. `scan_seconds` is what looking cost;
    `is_whole` says that everything was looked at.
    """

    units: tuple[Unit, ...] = ()
    removed: tuple[str, ...] = ()
    error: Problem | None = None
    wait: float | None = None
    root: tuple[int, int] | None = None
    scan_seconds: float = 0.0
    is_whole: bool = True


class Reader:
    """Remembers what was handed over, so that each look tells only what is new. Not for two threads at a time."""

    def __init__(self, source: str, path: str, settle: float, decode_object: DecodeObject = unsupported) -> None:
        self._source = source
        self._path = path
        self._quiet = settle
        self._decode_object = decode_object
        self._settle = Settle(settle)
        self._found: Scan | None = None
        self._unsteady: set[str] = set()
        self._handed: dict[str, bytes] = {}
        self._closed: dict[str, str] = {}

    def look(self, heard: Heard | None = None, *, everywhere: bool = True) -> Look:
        """Look through the path, or only where something was heard, and read what is new and settled."""
        heard = heard or Heard()
        started = time.monotonic()
        if everywhere or self._found is None:
            found = scan(self._path)
        else:
            found = rescan(self._path, self._found, heard.named | self._settle.unsettled() | self._unsteady)
        self._found = found
        now = time.monotonic()
        took = now - started
        if found.error:
            message = f"can't be read: {found.error}"
            problem = Problem(Origin(self._source, self._path), "PathUnreadable", message)
            return Look(error=problem, root=found.root, scan_seconds=took, is_whole=found.is_whole)
        units, opened = self._note_closed(found)
        step = self._settle.look(now, time.time(), found.files, heard, found.unreadable)
        for key in (*step.removed, *opened):
            self._handed.pop(key, None)
        self._unsteady.clear()
        units += [unit for key in step.read if (unit := self._unit(found, key)) is not None]
        units.sort(key=lambda unit: unit.key)
        wait = self._quiet if step.wait is None and self._unsteady else step.wait
        return Look(tuple(units), (*step.removed, *opened), None, wait, found.root, took, found.is_whole)

    def _note_closed(self, found: Scan) -> tuple[list[Unit], list[str]]:
        """Units that tell what is closed now, and keys of directories that are not closed any more."""
        units = [
            broken(self._place(found, key), "Unreadable", f"can't be read: {why}")
            for key, why in found.unreadable.items()
            if self._closed.get(key) != why
        ]
        opened = []
        for key in self._closed.keys() - found.unreadable.keys():
            self._handed.pop(key, None)
            if key in found.files:
                self._settle.again(key)
            else:
                opened.append(key)
        self._closed = found.unreadable
        return units, opened

    def _unit(self, found: Scan, key: str) -> Unit | None:
        """The unit of a file that is due; None when its content is the one that was handed over last."""
        place = self._place(found, key)
        try:
            data = read(place.path, found.files[key])
        except ChangedError:
            self._settle.again(key)
            self._unsteady.add(key)
            return None
        except UnreadableError as error:
            if error.is_passing:
                self._settle.again(key)
            unit = broken(place, error.reason, error.message)
            return unit if self._is_new(key, error.message.encode(), is_content=False) else None
        return parse(place, data, self._decode_object) if self._is_new(key, data, is_content=True) else None

    def _is_new(self, key: str, data: bytes, *, is_content: bool) -> bool:
        mark = bytes([is_content]) + blake2b(data, digest_size=16).digest()
        if self._handed.get(key) == mark:
            return False
        self._handed[key] = mark
        return True

    def _place(self, found: Scan, key: str) -> FilePlace:
        path = self._path if found.is_file else str(Path(self._path, key))
        return FilePlace(self._source, key, path, group_of(key))


def load(path: str | os.PathLike[str], source: str = "files", decode_object: DecodeObject = unsupported) -> list[Unit]:
    """All units of a path, read once, as `tidegate validate` and `tidegate render` need them.

    A path that can't be read gives one broken unit that says so. Unlike the source it reads files that are being
    written, too.
    """
    reader = Reader(source, os.fspath(path), 0.0, decode_object)
    units: dict[str, Unit] = {}
    for _ in range(_LOOKS):
        look = reader.look()
        if look.error is not None:
            return [Unit("", problems=(look.error,), broken=True)]
        units.update((unit.key, unit) for unit in look.units)
        if look.wait is None:
            break
    return [units[key] for key in sorted(units)]

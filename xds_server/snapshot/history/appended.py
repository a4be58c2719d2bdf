"""A file of framed records to which changes are appended, and that is written anew when they outweigh what it began with."""

from __future__ import annotations

import os
from pathlib import Path

from xds_server.snapshot.history.frames import MAGIC
from xds_server.snapshot.history.segments import write_whole

_SMALL = 64 * 1024
"""Bytes of changes for which nothing is written anew."""


class Appended:
    """One such file. What it holds is its owner's to know; all calls block, and belong in the writer's thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._base = -1
        self._changes = 0

    @property
    def is_due(self) -> bool:
        """Whether everything is to be written anew: the first time, after an error, and when changes outweigh."""
        return self._base < 0 or self._changes > max(self._base, _SMALL)

    def rewrite(self, frames: bytes) -> None:
        """Replace the file by one with these frames.

        Raises:
            OSError: It can't be written; the one that was there stays.
        """
        data = MAGIC + frames
        write_whole(self._path, data)
        self._base, self._changes = len(data), 0

    def append(self, frames: bytes) -> None:
        """Add frames, and wait until they are on disk.

        Raises:
            OSError: They can't be written, or not all of them.
        """
        with self._path.open("ab") as file:
            file.write(frames)
            file.flush()
            os.fdatasync(file.fileno())
        self._changes += len(frames)

    def spoil(self) -> None:
        """Note that an error has left it in no known state: it is due."""
        self._base = -1

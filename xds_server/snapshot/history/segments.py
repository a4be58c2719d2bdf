"""Segments: the files of one group, each a full snapshot and what changed after it. Writing only; it blocks."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xds_server.snapshot.history.frames import MAGIC, frame
from xds_server.snapshot.history.records import encode
from xds_server.snapshot.history.vault import Vault
from xds_server.snapshot.snapshot import Snapshot

SUFFIX = ".snapshots"
_DRAFT = ".draft"
_SMALL = 64 * 1024
"""Differences of so many bytes never make a new segment: small bases would be written all the time."""


_REST = 0.0002
"""Seconds between records for which the thread lets go of the interpreter, so that the event loop goes first."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many snapshots of a group are kept, and for how many seconds."""

    count: int = 100
    age: float = 168 * 3600.0


@dataclass(slots=True)
class Segment:
    """A file, and when (POSIX seconds) each of its snapshots was made, by seq, in their order."""

    path: Path
    created: dict[int, float]


class GroupFiles:
    """The segments of one group, to which snapshots are added. Files that an earlier process wrote stay as they are."""

    def __init__(self, folder: Path, bounds: Bounds, vault: Vault, segments: Sequence[Segment] = ()) -> None:
        """Write below `folder`, where these segments are, oldest first."""
        self._folder = folder
        self._bounds = bounds
        self._vault = vault
        self._segments = list(segments)
        self._last: Snapshot | None = None
        self._base = 0
        self._differences = 0

    def add(self, snapshots: Sequence[Snapshot], now: float) -> int:
        """Store snapshots, oldest first, so that they outlive the machine; how many bytes that took.

        After an error the next call begins a segment, whatever state this one's file is in.

        Raises:
            OSError: They can't be written.
        """
        written = 0
        todo = list(snapshots)
        last, self._last = self._last, None
        while todo:
            if last is None or self._is_full():
                last = todo.pop(0)
                written += self._begin(last)
            else:
                written += self._append(last, todo)
                last = todo[-1]
                todo = []
        self._last = last
        self._prune(now, None if last is None else last.held_seq)
        return written

    def _is_full(self) -> bool:
        """Whether the next snapshot should begin a segment: soon in a group's life, and when differences outweigh."""
        return len(self._segments) == 1 or self._differences > max(self._base, _SMALL)

    def _begin(self, snapshot: Snapshot) -> int:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{snapshot.seq:020d}{SUFFIX}"
        draft = path.with_suffix(_DRAFT)
        size = len(MAGIC)
        with open(draft, "wb", opener=_private) as file:
            file.write(MAGIC)
            for record in encode(snapshot, None, self._vault):
                size += file.write(frame(record))
                time.sleep(_REST)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(self._folder)
        self._segments.append(Segment(path, {snapshot.seq: snapshot.created}))
        self._base, self._differences = size, 0
        return size

    def _append(self, last: Snapshot, snapshots: Sequence[Snapshot]) -> int:
        segment = self._segments[-1]
        frames: list[bytes] = []
        for snapshot in snapshots:
            frames += map(frame, encode(snapshot, last, self._vault))
            last = snapshot
        data = b"".join(frames)
        with segment.path.open("ab") as file:
            file.write(data)
            file.flush()
            os.fdatasync(file.fileno())
        segment.created.update((snapshot.seq, snapshot.created) for snapshot in snapshots)
        self._differences += len(data)
        return len(data)

    def _prune(self, now: float, held: int | None) -> None:
        """Delete the segments of which nothing is to be kept; the one before the newest, and the held version, always are."""
        newer = 0
        kept = self._segments[-2:]
        for segment in reversed(kept):
            newer += len(segment.created)
        for segment in reversed(self._segments[:-2]):
            is_wanted = newer < self._bounds.count and max(segment.created.values()) >= now - self._bounds.age
            if is_wanted or held in segment.created:
                kept.insert(0, segment)
            else:
                segment.path.unlink(missing_ok=True)
            newer += len(segment.created)
        self._segments = kept


def sync_folder(folder: Path) -> None:
    """Have the names in a folder outlive the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, readable by its owner only.

    Raises:
        OSError: It can't be written.
    """
    draft = path.with_suffix(_DRAFT)
    with open(draft, "wb", opener=_private) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)

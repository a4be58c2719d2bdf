"""Decides when a file that changed may be read: at once when it was put in place whole, else after some quiet.

Pure: it is told what was seen and when. A file that is written in place must never be read half written, so whatever
is not surely whole waits until it has not changed for the time to settle. What tells that a file is whole:

- its links lead elsewhere than before (a mounted ConfigMap was swapped);
- its name leads to another inode, though it was never deleted: only a rename does that;
- a draft of it vanished as it appeared (`.NAME.tmp`, `NAME.new`, an editor's own file): it was renamed, or done with;
- it is another inode that was touched after its last write: a rename, a copy that set times or rights at its end;
- it is another inode that has been quiet for long (a directory was moved into place).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set as AbstractSet
from dataclasses import dataclass

from xds_server.sources.files.scan import Signature

_NEVER = Signature(0, 0, -1, 0, 0, 0, "", 0)
"""Stands for a file that was due and could not be read."""

_NS = 1e9


@dataclass(frozen=True, slots=True)
class Heard:
    """What the operating system told of names since the last look.

    `named` are all of which it told anything, `added` and `deleted` those that appeared and that were deleted.
    """

    added: AbstractSet[str] = frozenset()
    deleted: AbstractSet[str] = frozenset()
    named: AbstractSet[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now: files to read, files to forget, and in how many seconds to look again at the latest."""

    read: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    wait: float | None = None


class Settle:
    """Follows all files of one source."""

    def __init__(self, quiet: float) -> None:
        self._quiet = quiet
        self._read: dict[str, Signature] = {}
        self._before: dict[str, Signature] = {}
        self._waiting: dict[str, tuple[Signature, float]] = {}
        self._gone: dict[str, float] = {}
        self._added: set[str] = set()
        self._deleted: set[str] = set()
        self._drafts: list[str] = []
        self._is_first = True

    def look(
        self,
        now: float,
        wall: float,
        files: Mapping[str, Signature],
        heard: Heard | None = None,
        closed: Collection[str] = (),
    ) -> Step:
        """Take in what is there.

        `now` is in seconds of a clock that never goes back, `wall` the same moment in those of the files' times.
        `closed` are files and directories that can't be looked at: what lies there is as it was.
        """
        self._hear(heard or Heard(), files)
        self._before.clear()
        removed = self._removed(now, files, closed)
        # What was not looked at again is the same object: thousands of files that did not change cost little.
        news = [(key, seen) for key, seen in files.items() if seen is not self._read.get(key)]
        read = tuple(key for key, seen in news if self._is_due(key, seen, now, wall))
        self._is_first = False
        starts = [since for _, since in self._waiting.values()] + list(self._gone.values())
        return Step(read, removed, max(0.0, min(starts) + self._quiet - now) if starts else None)

    def _hear(self, heard: Heard, files: Mapping[str, Signature]) -> None:
        """Keep what was told of files that are there or were read, and which drafts have vanished just now."""
        self._added = {key for key in self._added | heard.added if key in files or key in self._read}
        self._deleted = {key for key in self._deleted | heard.deleted if key in files or key in self._read}
        self._drafts = [key for key in heard.deleted if key not in files and key not in self._read]

    def unsettled(self) -> AbstractSet[str]:
        """The files that wait for the end of a change; they must be looked at again whether they are heard of or not."""
        return self._waiting.keys() | self._gone.keys()

    def again(self, key: str) -> None:
        """Say that a file which was due could not be read: it is looked at as if it had not been due."""
        self._read[key] = self._before.get(key, _NEVER)

    def _is_due(self, key: str, seen: Signature, now: float, wall: float) -> bool:
        if self._gone.pop(key, None) is not None:
            self._deleted.add(key)
        old = self._read.get(key)
        if seen == old:
            self._forget(key)
            return False
        waiting = self._waiting.get(key)
        known = old or (waiting[0] if waiting else None)
        if waiting is None or waiting[0] != seen:
            waiting = self._waiting[key] = (seen, now)
        if now - waiting[1] < self._quiet and not self._is_whole(key, seen, old, known, wall):
            if old is None:
                self._added.discard(key)  # that was its creation; what is heard from now on is news
            return False
        self._forget(key)
        self._read[key] = seen
        if old is not None:
            self._before[key] = old
        return True

    def _is_whole(self, key: str, seen: Signature, old: Signature | None, known: Signature | None, wall: float) -> bool:
        """Whether a file that is not as it was read (`old`) is complete all the same; `known` is how it was seen."""
        is_old = wall - seen.mtime_ns / _NS >= self._quiet
        if self._is_first or old is _NEVER:
            return is_old
        if old is not None:
            if seen.has_content_of(old):
                return True
            if seen.identity == old.identity and seen.link == old.link:
                return False
        if seen.link and (old is None or seen.link != old.link):
            return True
        is_another = known is not None and known.identity != seen.identity
        is_renamed = (is_another and key in self._added and key not in self._deleted) or self._had_draft(key)
        # A write moves both times of an inode, a rename or a copied time only the second.
        return seen.size > 0 and (is_renamed or is_old or seen.ctime_ns > seen.mtime_ns)

    def _had_draft(self, key: str) -> bool:
        """Whether a file beside it vanished just now whose name is that of a draft of it."""
        folder, _, name = key.rpartition("/")
        for draft in self._drafts:
            beside, _, other = draft.rpartition("/")
            if beside == folder and other != name and other.lstrip(".#~").startswith(name):
                return True
        return False

    def _removed(self, now: float, files: Mapping[str, Signature], closed: Collection[str]) -> tuple[str, ...]:
        """The files that are gone for good: renamed, or not created again within the time to settle."""
        for key in self._waiting.keys() - files.keys():
            del self._waiting[key]
        missing = [key for key in self._read if key not in files and not _is_below(key, closed)]
        names = {seen.identity for seen in files.values()} if missing else set()
        removed = []
        for key in missing:
            since = self._gone.setdefault(key, now)
            if self._read[key].identity in names or now - since >= self._quiet:
                removed.append(key)
                del self._read[key], self._gone[key]
                self._forget(key)
        return tuple(removed)

    def _forget(self, key: str) -> None:
        """Drop what was gathered about a file whose state is clear now."""
        self._waiting.pop(key, None)
        self._added.discard(key)
        self._deleted.discard(key)


def _is_below(key: str, closed: Collection[str]) -> bool:
    return any(key == each or key.startswith(f"{each}/") for each in closed)

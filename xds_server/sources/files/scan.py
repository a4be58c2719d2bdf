"""Looks through a directory, or again at some paths of it: which files there are, and what tells that they changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

SUFFIXES = (".yaml", ".yml", ".json")
_GROUP_PREFIX = "group="
DEFAULT_GROUP = "default"
NOT_A_FILE = "it is no regular file"


@dataclass(frozen=True, slots=True)
class Signature:
    """What tells a file's state without reading it. Two equal ones mean the same content.

    `link` is the real path where a symbolic link is on the way to the file, else "". The change time of the inode
    is no part of equality: a hard link or a rename moves it.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    mode: int
    owner: int
    link: str
    ctime_ns: int = field(compare=False)

    def has_content_of(self, other: Signature) -> bool:
        """Whether only rights differ, not what the file holds."""
        return (self.identity, self.size, self.mtime_ns, self.link) == (
            other.identity,
            other.size,
            other.mtime_ns,
            other.link,
        )

    @property
    def identity(self) -> tuple[int, int]:
        """The file itself, whatever it is called."""
        return self.device, self.inode


@dataclass(slots=True)
class Scan:
    """What was found: files by key, and what could not be looked at.

    A key is the path below the root with `/`. `unreadable` has the keys of files and directories that are there
    but closed, with the reason. `folders` are the keys of the directories, "" for the root. `error` says why the
    root itself can't be read, "" when it can. `root` identifies the directory to watch; `is_file` says that the root
    is a single file, whose key is its name; `is_linked`, that there are symbolic links.
    """

    files: dict[str, Signature] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    root: tuple[int, int] | None = None
    error: str = ""
    is_file: bool = False
    is_linked: bool = False
    is_whole: bool = True
    """Whether everything was looked at, and not some paths only."""


def scan(path: str) -> Scan:
    """Look through a directory and all below it, or at a single file.

    Hidden entries are left out; so a mounted ConfigMap is seen through its top-level links only, not a second time
    through `..data`. Links that lead nowhere count as absent.
    """
    found = Scan()
    try:
        root = Path(path)
        status = root.stat()
        found.root = identity_of_watched(root)
        if S_ISDIR(status.st_mode):
            found.is_linked = root.is_symlink()
            ancestors = ((status.st_dev, status.st_ino),)
            _directory(path, "", found, ancestors, is_linked=found.is_linked)
        else:
            found.is_file = True
            found.files[root.name] = _signature(status, path, is_linked=root.is_symlink())
    except OSError as error:
        found.error = explain(error)
    return found


def rescan(path: str, before: Scan, keys: Iterable[str]) -> Scan:
    """Look again at these keys only, or at everything where they may not tell all that has changed.

    A link shows what changes under another key, and a directory that comes, goes or opens changes all below it.
    """
    if before.error or before.is_file or before.is_linked or identity_of_watched(Path(path)) != before.root:
        return scan(path)
    found = replace(before, files=dict(before.files), unreadable=dict(before.unreadable), is_whole=False)
    return found if all(_again(path, key, found) for key in keys) else scan(path)


def _again(path: str, key: str, found: Scan) -> bool:
    """Whether one key told all that has changed there; `found` is up to date then."""
    *folders, _ = parts = key.split("/")
    if any(part.startswith(".") for part in parts):
        return True
    if key in found.folders or "/".join(folders) not in found.folders:
        return False
    found.files.pop(key, None)
    found.unreadable.pop(key, None)
    try:
        status = os.lstat(f"{path}/{key}")
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if S_ISDIR(status.st_mode) or S_ISLNK(status.st_mode):
        return False
    _note(key, status, f"{path}/{key}", found, is_linked=False)
    return True


def explain(error: OSError) -> str:
    """The reason of an operating system's error, without the path, which is told beside it."""
    return (error.strerror or type(error).__name__).lower()


def identity_of_watched(path: Path) -> tuple[int, int] | None:
    """Device and inode of a directory, or of that of a single file; None when the path leads nowhere."""
    try:
        status = path.stat() if path.is_dir() or not path.exists() else path.parent.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_watched(name: str) -> bool:
    """Whether a file's name is one that is read: a known suffix, not hidden, not an editor's own file."""
    return name.lower().endswith(SUFFIXES) and name[0] not in ".#~"


def group_of(key: str) -> str:
    """The group that a file belongs to: named by the first folder when it is called `group=NAME`."""
    first, _, rest = key.partition("/")
    name = first.removeprefix(_GROUP_PREFIX)
    return name if rest and name and name != first else DEFAULT_GROUP


def _directory(path: str, prefix: str, found: Scan, ancestors: tuple[tuple[int, int], ...], *, is_linked: bool) -> None:
    found.folders.add(prefix.removesuffix("/"))
    for entry in _entries(path):
        key = prefix + os.fsencode(entry.name).decode("utf-8", "backslashreplace")
        if key != prefix + entry.name:
            # It could be neither shown nor put into an answer.
            found.unreadable[key] = "its name is not UTF-8"
            continue
        linked = is_linked or entry.is_symlink()
        found.is_linked |= linked
        try:
            status = entry.stat()
            if S_ISDIR(status.st_mode):
                identity = (status.st_dev, status.st_ino)
                if identity not in ancestors:  # a link back up would go round for ever
                    _directory(entry.path, f"{key}/", found, (*ancestors, identity), is_linked=linked)
            else:
                _note(key, status, entry.path, found, is_linked=linked)
        except FileNotFoundError:
            continue
        except OSError as error:
            found.unreadable[key] = explain(error)


def _note(key: str, status: os.stat_result, path: str, found: Scan, *, is_linked: bool) -> None:
    """Take in what is there and no directory."""
    if not is_watched(key.rpartition("/")[2]):
        return
    if S_ISREG(status.st_mode):
        found.files[key] = _signature(status, path, is_linked=is_linked)
    else:
        found.unreadable[key] = NOT_A_FILE


def _entries(path: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        yield from sorted((entry for entry in entries if entry.name[0] != "."), key=lambda entry: entry.name)


def _signature(status: os.stat_result, path: str, *, is_linked: bool) -> Signature:
    return Signature(
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_mode,
        status.st_uid,
        os.path.realpath(path) if is_linked else "",
        status.st_ctime_ns,
    )

"""Archives of `tidegate export` in the place of files: unpacked into a folder that goes with the command."""

from __future__ import annotations

import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath

_SUFFIXES = (".tar.gz", ".tgz")
_RESOURCES = "resources"
"""The folder in an archive that is served; the rest of it is for people."""

MOST_ENTRIES = 10_000
MOST_BYTES = 256 * 1024 * 1024
"""What an archive may have in it: entries, and bytes of all that is read of it."""


class ArchiveError(Exception):
    """An archive that is none, or that holds what no archive of ours does; the text is for people."""


def is_archive(path: Path) -> bool:
    """Whether a path is to be taken as an archive."""
    return path.name.lower().endswith(_SUFFIXES) and path.is_file()


@contextmanager
def unpacked(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """The paths, with folders in the place of archives, which are there as long as the context lasts.

    Raises:
        ArchiveError: One can't be unpacked.
    """
    with ExitStack() as stack:
        yield [_unpacked(path, stack) if is_archive(path) else path for path in paths]


def _unpacked(path: Path, stack: ExitStack) -> Path:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-")))
    try:
        # As a stream: an archive is read once from front to end, and never further than the bounds.
        with tarfile.open(path, "r|gz") as archive:
            _extract(archive, folder)
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise ArchiveError(f"{path} can't be read as an archive of `tidegate export`: {error}") from None
    except ArchiveError as error:
        raise ArchiveError(f"{path}: {error}") from None
    resources = folder / _RESOURCES
    if not resources.is_dir():
        raise ArchiveError(f"{path}: there is no folder {_RESOURCES!r} in it, so it is no archive of `tidegate export`")
    return resources


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    read = 0
    for number, member in enumerate(archive, 1):
        read += member.size
        if number > MOST_ENTRIES or read > MOST_BYTES:
            raise ArchiveError(f"it holds more than {MOST_ENTRIES} entries or {MOST_BYTES} bytes")
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts or not (member.isreg() or member.isdir()):
            raise ArchiveError(f"the entry {member.name!r} leads out of it, or is no file")
        content = archive.extractfile(member) if member.isreg() and name.parts[:1] == (_RESOURCES,) else None
        if content is not None:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(content.read())

"""Values that are made of files and made anew when the files change; the last good value stays when they are broken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import structlog

T = TypeVar("T")

INTERVAL = 1.0
"""Seconds between two looks at the files."""

_Signature = tuple[tuple[int, ...] | None, ...]

_log = structlog.get_logger()


class CredentialError(OSError):
    """A credential can't be used at the start, when there is no earlier one; the text names the key and the file."""


class Watched(Generic[T]):
    """One value made of some files. `value` may be read from any thread; `problem` says why it is not the newest."""

    def __init__(self, name: str, paths: Sequence[Path], make: Callable[[], T]) -> None:
        """Make the value for the first time; `name` is the key of the settings that asks for it.

        Raises:
            CredentialError: it can't be made.
        """
        self.name = name
        self.problem = ""
        self._paths = tuple(paths)
        self._make = make
        self._settled: _Signature = _signature(paths)
        self._suspect: _Signature | None = None
        try:
            self.value = make()
        except (OSError, ValueError) as error:
            raise CredentialError(f"{name}: {error}") from error

    def check(self) -> None:
        """Look at the files, and take what they hold now. Blocks on the disk; one thread at a time.

        A pair is written one file after the other, so what is broken at first sight is looked at once more before
        anything is said; and what has changed while it was read is read again the next time.
        """
        now = _signature(self._paths)
        if now == self._settled:
            return
        try:
            value = self._make()
        except (OSError, ValueError) as error:
            if now != self._suspect:
                self._suspect = now
                return
            self.problem, self._settled = str(error), now
            _log.warning("credential_broken", credential=self.name, error=str(error), hint="the last good one stays")
            return
        if _signature(self._paths) == now:
            self.value, self.problem, self._settled = value, "", now
            _log.info("credential_replaced", credential=self.name)


class Credentials:
    """All credentials of a process."""

    def __init__(self) -> None:
        self._watched: list[Watched[object]] = []

    def watch(self, name: str, paths: Sequence[Path], make: Callable[[], T]) -> Watched[T]:
        """Make a value of files, and keep it up to date while `run` runs; `make` raises OSError or ValueError.

        Raises:
            CredentialError: it can't be made.
        """
        watched = Watched(name, paths, make)
        self._watched.append(watched)  # type: ignore[arg-type]  # only `check` is called
        return watched

    async def run(self) -> None:
        """Look at all files again and again, in a thread: they may lie on a slow disk."""
        while self._watched:
            await asyncio.sleep(INTERVAL)
            await asyncio.to_thread(self._check)

    def up(self) -> list[tuple[tuple[str], float]]:
        """For the metric: by name, 1 when the files as they are now are in use."""
        return [((each.name,), float(not each.problem)) for each in self._watched]

    def _check(self) -> None:
        for each in self._watched:
            each.check()


def _signature(paths: Sequence[Path]) -> _Signature:
    """What changes when a file is written, replaced or made readable, behind symbolic links too."""
    return tuple(_stamp(path) for path in paths)


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

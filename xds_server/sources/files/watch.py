"""Tells the source where something changes below its path, and outlives whatever happens to that path.

Only a hint: what really changed is found by looking there, and everywhere from time to time without any hint.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog
from watchfiles import Change, awatch

from xds_server.sources.files.scan import identity_of_watched
from xds_server.sources.files.settle import Heard

_DEBOUNCE_MS = 200
_STEP_MS = 25
"""Changes that follow each other within a step come as one, for at most the debounce time."""

log = structlog.get_logger()


class Watch:
    """The operating system's notifications for a directory, or for the directory of a single file."""

    def __init__(self, path: str, retry: float) -> None:
        self._path = Path(path).absolute()
        self._retry = retry
        self._watched: tuple[int, int] | None = None
        self._again = asyncio.Event()
        self._woken = asyncio.Event()
        self._added: set[str] = set()
        self._deleted: set[str] = set()
        self._named: set[str] = set()
        self._last_error = ""

    async def run(self) -> None:
        """Watch until cancelled; a watch that ends or fails is begun again."""
        while True:
            self._again = asyncio.Event()
            self._watched = identity_of_watched(self._path)
            if self._watched is None:
                await self._pause()
                continue
            try:
                await self._listen()
            # RuntimeError: what watchfiles makes of the rest, such as a name that is not UTF-8, in a group at times.
            except* (OSError, RuntimeError) as errors:
                self._tell(_words(errors))
                await self._pause()

    def follow(self, root: tuple[int, int] | None) -> None:
        """Say what the path leads to by now; when that is not what is watched, the watch begins again."""
        if root != self._watched:
            self._again.set()

    async def wait(self, seconds: float) -> None:
        """Wait for a notification, but no longer than that; not at all for 0 or less."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return

    def take(self) -> Heard:
        """What was heard since the last time, by key."""
        self._woken.clear()
        heard = Heard(self._added, self._deleted, self._named)
        self._added, self._deleted, self._named = set(), set(), set()
        return heard

    async def _listen(self) -> None:
        base = self._base()
        self._named.add("")  # all of it: what happened before the watch stood was not heard
        self._woken.set()
        async for changes in awatch(
            base,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=self._again,
            recursive=base is self._path,
        ):
            self._last_error = ""
            for change, path in changes:
                self._note(change, path.removeprefix(str(base)).removeprefix("/"))
            self._woken.set()

    def _base(self) -> Path:
        return self._path if self._path.is_dir() else self._path.parent

    def _note(self, change: Change, key: str) -> None:
        self._named.add(key)
        if change is Change.added:
            self._added.add(key)
        elif change is Change.deleted:
            self._deleted.add(key)

    async def _pause(self) -> None:
        """Wait before the next try, but not on when the path leads to something else."""
        try:
            async with asyncio.timeout(self._retry):
                await self._again.wait()
        except TimeoutError:
            return

    def _tell(self, error: str) -> None:
        """Log that the path can't be watched, once; looking from time to time goes on."""
        if error != self._last_error:
            log.warning("can't watch files, looking from time to time instead", path=str(self._path), error=error)
        self._last_error = error


def _words(errors: BaseException) -> str:
    """What the first single error of a group says."""
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return str(errors)

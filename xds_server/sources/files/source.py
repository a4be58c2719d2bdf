"""The files source: hands over what a directory declares, and every change of it."""

from __future__ import annotations

import asyncio
import os

from xds_server.sources.base import Sink
from xds_server.sources.files.reader import Look, Reader
from xds_server.sources.files.watch import Watch

_POLL = 1.0
"""Seconds between looks when nothing is heard: the net under notifications, which can get lost."""

_SHARE = 10
"""After a look, the source rests for so many times the look's length, so that a huge directory costs little."""

_PATIENCE = 10
"""Times to settle after which a first file that is written again and again holds up readiness no more."""


class FilesSource:
    """A directory (or one file) of native xDS documents, watched for changes unless `watch` is off.

    `settle` is the time in seconds for which a file that is written in place must not change before it is read.
    """

    kind = "files"

    def __init__(self, name: str, path: str | os.PathLike[str], watch: bool = True, settle: float = 0.5) -> None:  # noqa: FBT001, FBT002
        self.name = name
        self.path = os.fspath(path)
        self.watch = watch
        self.settle = settle

    async def run(self, sink: Sink) -> None:
        """Hand over everything, then each change, until cancelled."""
        watch = Watch(self.path, _POLL)
        run = _Run(Reader(self.name, self.path, self.settle), sink, _PATIENCE * self.settle)
        async with asyncio.TaskGroup() as group:
            if self.watch:
                group.create_task(watch.run(), name=f"watch {self.path}")
            while True:
                look = await run.step(watch)
                if run.is_synced and not self.watch:
                    await asyncio.Event().wait()  # until cancelled
                watch.follow(look.root)
                rest = min(_POLL, _SHARE * look.scan_seconds)
                await asyncio.sleep(rest)
                await watch.wait(_POLL if look.wait is None else min(_POLL, max(0.0, look.wait - rest)))


class _Run:
    """What one run has told its sink."""

    def __init__(self, reader: Reader, sink: Sink, patience: float) -> None:
        self.is_synced = False
        self._reader = reader
        self._sink = sink
        self._error = ""
        self._deadline = asyncio.get_running_loop().time() + patience

    async def step(self, watch: Watch) -> Look:
        """Look once and hand over what was found."""
        look = await asyncio.to_thread(self._reader.look, watch.take())
        self._tell_error(look)
        if look.units or look.removed:
            self._sink.replace(look.units, look.removed)
        is_late = asyncio.get_running_loop().time() >= self._deadline
        if not self.is_synced and look.error is None and (look.wait is None or is_late):
            self.is_synced = True
            self._sink.synced()
        return look

    def _tell_error(self, look: Look) -> None:
        error = "" if look.error is None else look.error.message
        if look.error is not None and error != self._error:
            self._sink.failed(look.error)
        elif self._error and not error:
            self._sink.recovered()
        self._error = error

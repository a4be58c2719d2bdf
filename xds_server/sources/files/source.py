"""The files source: hands over what a directory declares, and every change of it."""

from __future__ import annotations

import asyncio
import os

from xds_server.sources.base import DecodeObject, Sink
from xds_server.sources.files.parse import unsupported
from xds_server.sources.files.reader import Look, Reader
from xds_server.sources.files.watch import Watch

_POLL = 1.0
"""Seconds between two looks at everything: the net under notifications, which can get lost."""

_SHARE = 10
"""After a notification that made it look at everything, the source rests for so many times the look's length."""

_PATIENCE = 10.0
"""Seconds after the first look in which a file that is written again and again holds up readiness."""


class FilesSource:
    """A directory (or one file) of native xDS documents and manifests, watched for changes unless `watch` is off.

    `settle` is the time in seconds for which a file that is written in place must not change before it is read,
    `decode_object` what makes objects of manifests.
    """

    kind = "files"

    def __init__(
        self,
        name: str,
        path: str | os.PathLike[str],
        watch: bool = True,  # noqa: FBT001, FBT002
        settle: float = 0.5,
        decode_object: DecodeObject = unsupported,
    ) -> None:
        self.name = name
        self.path = os.fspath(path)
        self.watch = watch
        self.settle = settle
        self.decode_object = decode_object

    async def run(self, sink: Sink) -> None:
        """Hand over everything, then each change, until cancelled."""
        watch = Watch(self.path, _POLL)
        run = _Run(Reader(self.name, self.path, self.settle, self.decode_object), sink)
        async with asyncio.TaskGroup() as group:
            if self.watch:
                group.create_task(watch.run(), name=f"watch {self.path}")
            while True:
                everywhere = run.seconds_left() <= 0
                look = await run.step(watch, everywhere=everywhere)
                if run.is_synced and not self.watch:
                    await asyncio.Event().wait()  # until cancelled
                watch.follow(look.root)
                rest = min(_POLL, _SHARE * look.scan_seconds) if look.is_whole and not everywhere else 0.0
                await asyncio.sleep(rest)
                await watch.wait(run.seconds_left() if look.wait is None else min(run.seconds_left(), look.wait - rest))


class _Run:
    """What one run has told its sink."""

    def __init__(self, reader: Reader, sink: Sink) -> None:
        self.is_synced = False
        self._reader = reader
        self._sink = sink
        self._error = ""
        self._deadline: float | None = None
        self._whole_at = 0.0

    def seconds_left(self) -> float:
        """For how long the next look at everything is not due; less than 0 when it is."""
        return self._whole_at - asyncio.get_running_loop().time()

    async def step(self, watch: Watch, *, everywhere: bool) -> Look:
        """Look once, everywhere or where something was heard, and hand over what was found."""
        look = await asyncio.to_thread(self._reader.look, watch.take(), everywhere=everywhere)
        if look.is_whole:
            self._whole_at = asyncio.get_running_loop().time() + _POLL
        self._tell_error(look)
        if look.units or look.removed:
            self._sink.replace(look.units, look.removed)
        if not self.is_synced and look.error is None and (look.wait is None or self._is_late()):
            self.is_synced = True
            self._sink.synced()
        return look

    def _is_late(self) -> bool:
        now = asyncio.get_running_loop().time()
        if self._deadline is None:
            self._deadline = now + _PATIENCE
        return now >= self._deadline

    def _tell_error(self, look: Look) -> None:
        error = "" if look.error is None else look.error.message
        if look.error is not None and error != self._error:
            self._sink.failed(look.error)
        elif self._error and not error:
            self._sink.recovered()
        self._error = error

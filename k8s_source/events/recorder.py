"""The recorder: takes Events without waiting, and writes them as well as it goes.

Events are worth little to those who are late, and nothing depends on them: what can't be written after some tries, or does not
fit into the queue, is dropped and counted.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Literal, Protocol

import structlog

from k8s_source.client.errors import ApiError
from k8s_source.client.resource import EVENTS, Resource
from k8s_source.events.event import Event, Reporter, Write, body_of, patch_of
from k8s_source.events.naming import GroupApi, Naming
from k8s_source.events.series import SeriesBook

_QUEUED = 1000
"""Writes that wait, as client-go's `maxQueuedEvents`."""

_CALL = 10.0
"""Seconds for one request."""

_FAREWELL = 1.0
"""Seconds at the end for all that still waits."""

_PAUSES = (0.5, 2.0, 8.0)
"""Seconds between tries, half of it by chance; client-go tries 12 times, and holds up all other Events for two minutes."""

_TERMINATED = "because it is being terminated"
_NAMESPACE = "namespaces "

_log = structlog.get_logger(__name__)


class EventApi(GroupApi, Protocol):
    """What is asked of the API server; `client.api.Api` has it."""

    async def create(self, resource: Resource, namespace: str, body: bytes) -> bytes:
        """Make an object."""

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: bytes, *, kind: Literal["json", "merge"]
    ) -> bytes:
        """Change an object."""


class Meter(Protocol):
    """Where the recorder counts."""

    def event_told(self, outcome: str) -> None:
        """Count an Event, or a count of a series: `written`, `refused`, `failed` after all tries, `dropped` unwritten."""


class Recorder:
    """Records Events while `run` runs. Only the leader should: the others see the same, and would tell it again.

    Args:
        api: The API server.
        reporter: Who reports.
        meter: Where to count.
        wall: POSIX time.
        queued: How many writes may wait.
    """

    def __init__(
        self,
        api: EventApi,
        reporter: Reporter,
        meter: Meter,
        *,
        wall: Callable[[], float] = time.time,
        queued: int = _QUEUED,
    ) -> None:
        self._api = api
        self._naming = Naming(api)
        self._reporter = reporter
        self._meter = meter
        self._wall = wall
        self._queue: asyncio.Queue[Write] = asyncio.Queue(queued)
        self._book: SeriesBook | None = None
        self._now: Write | None = None

    def record(self, event: Event) -> None:
        """Tell that something happened. Never waits, never fails; to be called on the event loop's thread."""
        now = asyncio.get_running_loop().time()
        if self._book is None:
            self._book = SeriesBook(now)
        self._put(self._book.tell(event, now, self._wall()))

    async def run(self) -> None:
        """Write until cancelled. What waits then is written by the next run, if there is one."""
        loop = asyncio.get_running_loop()
        self._book = self._book or SeriesBook(loop.time())
        while True:
            try:
                async with asyncio.timeout_at(self._book.due):
                    write = await self._queue.get()
            except TimeoutError:
                self._put(self._book.sweep(loop.time()))
            else:
                self._now = write
                await self._write(write)
                self._now = None

    async def flush(self) -> None:
        """After the last run, write what still waits: each once, as long as there is time. It may have been told just now."""
        waiting = [] if self._now is None else [self._now]
        while not self._queue.empty():
            waiting.append(self._queue.get_nowait())
        try:
            async with asyncio.timeout(_FAREWELL):
                for write in waiting:
                    outcome, _ = await self._try(write)
                    self._meter.event_told(outcome)
        except TimeoutError:
            _log.warning("events_lost", hint="the API server does not take them in time, and this process ends")

    def _put(self, writes: list[Write]) -> None:
        for write in writes:
            try:
                self._queue.put_nowait(write)
            except asyncio.QueueFull:
                self._meter.event_told("dropped")

    async def _write(self, write: Write) -> None:
        outcome, told = "failed", ""
        for pause in (0.0, *_PAUSES):
            await asyncio.sleep(pause * (1 - random.random() / 2))  # noqa: S311  # jitter
            outcome, told = await self._try(write)
            if outcome != "failed":
                break
        self._meter.event_told(outcome)
        if told:
            _log.warning("event_not_written", name=write.name, namespace=write.event.namespace, error=told)

    async def _try(self, write: Write) -> tuple[str, str]:
        """How it went, and what was wrong."""
        try:
            async with asyncio.timeout(_CALL):
                await self._once(write)
        except TimeoutError:
            return "failed", "no answer in time"
        except ApiError as error:
            if _goes_with_its_namespace(error):
                return "refused", ""
            return ("failed" if error.is_retryable else "refused"), str(error)
        return "written", ""

    async def _once(self, write: Write) -> None:
        namespace = write.event.namespace
        if write.count > 1:
            try:
                await self._api.patch(EVENTS, namespace, write.name, patch_of(write), kind="merge")
            except ApiError as error:
                if not error.is_not_found:
                    raise
            else:
                return
        # A first one; or a series whose Event is gone (they live for an hour), or was never written.
        regarding = await self._naming.named(write.event.regarding)
        named = replace(write, event=replace(write.event, regarding=regarding))
        try:
            await self._api.create(EVENTS, namespace, body_of(named, self._reporter))
        except ApiError as error:
            # The name is ours alone: an earlier try was carried out, and its answer lost.
            if not (error.is_conflict and write.count == 1):
                raise


def _goes_with_its_namespace(error: ApiError) -> bool:
    """Whether the namespace is being deleted, or gone: no Event finds room there, and of each of its objects there is one.

    The words are those of the admission plug-in NamespaceLifecycle.
    """
    is_gone = error.is_not_found and error.message.startswith(_NAMESPACE)
    return is_gone or (error.status == HTTPStatus.FORBIDDEN and _TERMINATED in error.message)

"""One watch: the events after a version, or, where the server can, everything first and the events after it."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import aclosing
from typing import Generic, TypeVar

from k8s_source.client.errors import ApiError
from k8s_source.informer.condition import Phase
from k8s_source.informer.listing import LIST_TIMEOUT, Listing
from k8s_source.informer.plan import SHORT, SILENT, Plan
from k8s_source.informer.target import Target, Tools, View
from k8s_source.informer.watchdog import MARGIN, QUIET, Watchdog
from k8s_source.informer.wire import Event, bookmark_of, event_of, object_of
from xds_server.sources.turns import Turns

T = TypeVar("T")

SHORTEST = 1.0
"""Seconds: a watch that ends sooner and without an event was none."""

_STREAMED = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))


class Watch(Generic[T]):
    """One request. `run` returns when the server has ended it in order, and raises ApiError for all else."""

    def __init__(self, view: View, plan: Plan, target: Target[T], tools: Tools, *, bookmarks: bool) -> None:
        """`bookmarks` says that they are expected: a silence is too long then before the server's end."""
        self._view, self._plan, self._target, self._tools = view, plan, target, tools
        self._quiet = QUIET if bookmarks else float("inf")
        self._listing = None if plan.version else Listing(view, target, tools)
        self._lasts = tools.tuning.watch_timeout * random.uniform(0.5, 1)  # noqa: S311 - no secret
        self._events = 0
        self._is_told = False
        self._timer: asyncio.TimerHandle | None = None
        self.saw_bookmark = False
        self.is_silent = False
        """Whether it was too quiet for too long, before its server was to end it."""

    async def run(self) -> None:
        """Read until it ends."""
        meter, kind = self._tools.meter, self._view.kind
        meter.watched(kind)
        began = time.monotonic()
        why = "error"
        try:
            await self._guarded()
            lived = time.monotonic() - began
            why = "short" if lived < SHORTEST and not self._events else "timeout"
        except TimeoutError as error:
            why = "silent"
            self.is_silent = time.monotonic() < began + self._lasts
            raise ApiError(0, SILENT, "nothing came in time, not even the end of the watch") from error
        finally:
            meter.watch_ended(kind, why)
            self._plan.lived(time.monotonic() - began)
        if why == "short" or self._listing is not None:
            raise ApiError(0, SHORT, "the server has ended the watch before its time")

    async def _guarded(self) -> None:
        async with asyncio.timeout(None) as limit:
            quiet = min(self._quiet, LIST_TIMEOUT) if self._listing else self._quiet
            dog = Watchdog(limit, self._lasts, quiet, self._tell_silence)
            try:
                await self._read(dog)
            finally:
                dog.stop()
                if self._timer is not None:
                    self._timer.cancel()

    async def _read(self, dog: Watchdog) -> None:
        turns = Turns()
        # The watchdog is first; a limit of the transport's own costs nothing.
        idle = min(self._quiet, self._lasts) + 2 * MARGIN
        stream = self._tools.api.stream(self._view.path, query=self._query(), idle=idle, opened=self._opened)
        async with aclosing(stream) as lines:
            async for line in lines:
                if dog.hear():
                    self._is_told = False
                self._target.heard()
                self._take(event_of(line))
                if self._listing is None:
                    dog.quiet = self._quiet
                    self._tell_good()
                await turns.take()

    def _query(self) -> tuple[tuple[str, str], ...]:
        start = _STREAMED if self._listing else (("resourceVersion", self._plan.version),)
        lasts = ("timeoutSeconds", str(max(1, round(self._lasts))))
        return (*self._view.selectors, ("watch", "true"), ("allowWatchBookmarks", "true"), lasts, *start)

    def _opened(self) -> None:
        self._target.heard()
        if self._listing is None:
            # Not at once: a version that is too old is often told by the first event of a watch.
            self._timer = asyncio.get_running_loop().call_later(SHORTEST, self._tell_good)

    def _tell_good(self) -> None:
        if not self._is_told:
            self._is_told = True
            self._target.told(Phase.WATCHING)

    def _tell_silence(self) -> None:
        self._target.told(Phase.STALE, f"watch {self._view.where}: nothing has come for too long")

    def _take(self, event: Event) -> None:
        self._tools.meter.watch_event(self._view.kind, event.type)
        self._events += 1
        if event.type == "BOOKMARK":
            self._take_bookmark(event)
        elif self._listing is not None:
            self._listing.add(event.object)
        else:
            self._take_object(event)

    def _take_bookmark(self, event: Event) -> None:
        bookmark = bookmark_of(event.object)
        if self._listing is None:
            self.saw_bookmark = True
            self._plan.reached(bookmark.version)
        elif bookmark.ends_list:
            self._plan.listed(self._listing.end(bookmark.version))
            self._listing = None

    def _take_object(self, event: Event) -> None:
        found = object_of(event.object, self._view.resource)
        if event.type == "DELETED":
            self._target.remove(found)
        elif (item := self._target.item(found)) is not None:
            self._target.put(item)
        self._plan.reached(found.meta.resource_version)

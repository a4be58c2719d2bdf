"""Lists: everything that there is of a view, page by page."""

from __future__ import annotations

import time
from typing import Generic, TypeVar

import msgspec

from k8s_source.client.errors import ApiError
from k8s_source.informer.item import Item, ItemKey
from k8s_source.informer.target import Target, Tools, View
from k8s_source.informer.wire import BROKEN, object_of, page_of
from xds_server.sources.turns import Turns

T = TypeVar("T")

LIST_TIMEOUT = 60.0
"""Seconds for a page of a list, as API servers have it (`--request-timeout`); also for a silence in a streamed one."""


class Listing(Generic[T]):
    """A list as it is read. It is handed over when it is whole."""

    def __init__(self, view: View, target: Target[T], tools: Tools) -> None:
        self._view, self._target, self._tools = view, target, tools
        self._began = time.perf_counter()
        self._items: dict[ItemKey, Item[T]] = {}

    async def read(self, *, pages: bool) -> str:
        """Read and hand over everything; the list's version. Raises ApiError."""
        turns, tools = Turns(), self._tools
        limit = (("limit", str(tools.tuning.page)),) if pages else ()
        onward: tuple[tuple[str, str], ...] = ()
        while True:
            query = (*self._view.selectors, *limit, *onward)
            # No resourceVersion: as of now, never older than what was known, whichever API server answers.
            page = page_of(await tools.api.request("GET", self._view.path, query=query, timeout=LIST_TIMEOUT))
            self._target.heard()
            for raw in page.items or ():
                self.add(raw)
                await turns.take()
            if not page.metadata.onward:
                return self.end(page.metadata.resource_version)
            onward = (("continue", page.metadata.onward),)

    def add(self, raw: msgspec.Raw) -> None:
        """Take an object of it. Raises ApiError."""
        item = self._target.item(object_of(raw, self._view.resource))
        if item is not None:
            self._items[item.key] = item

    def end(self, version: str) -> str:
        """Hand it over; its version. Raises ApiError when it has none: nothing could be watched from there."""
        if not version:
            raise ApiError(0, BROKEN, "the list has no resourceVersion")
        self._tools.meter.listed(self._view.kind, time.perf_counter() - self._began)
        self._target.replace(self._items)
        return version

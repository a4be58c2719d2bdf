"""A lease without an API server, for tests of the election: versions that are compared, and calls that hang or fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from k8s_source.client.errors import ApiError
from k8s_source.lease.record import Record, Seen

T = TypeVar("T")


class Store:
    """One lease as an API server keeps it: each write has a new version, and replaces one version only."""

    def __init__(self) -> None:
        self.seen: Seen | None = None
        self.history: list[Record] = []

    def read(self) -> Seen | None:
        """What is there."""
        return self.seen

    def write(self, over: Seen | None, record: Record) -> Seen:
        """Replace what was seen. Raises ApiError (conflict) when that is not there any more."""
        if over != self.seen:
            raise ApiError(409, "Conflict", "the object has been modified")
        self.history.append(record)
        self.seen = Seen(record, b"%d" % len(self.history))
        return self.seen


class SlowLock:
    """A candidate's way to a store: each call takes `delay` seconds, half of them each way, and may `fail` before or after."""

    def __init__(self, store: Store, delay: float = 0.01) -> None:
        self.store = store
        self.delay = delay
        self.fail: Callable[[str], bool] = lambda _call: False
        self.lose: Callable[[str], bool] = lambda _call: False
        self.calls: list[str] = []

    async def get(self) -> Seen | None:
        return await self._call("get", self.store.read)

    async def create(self, record: Record) -> Seen:
        return await self._call("create", lambda: self.store.write(None, record))

    async def update(self, seen: Seen, record: Record) -> Seen:
        return await self._call("update", lambda: self.store.write(seen, record))

    async def _call(self, name: str, do: Callable[[], T]) -> T:
        self.calls.append(name)
        await asyncio.sleep(self.delay / 2)
        if self.fail(name):
            raise ApiError(503, "ServiceUnavailable", "not now")
        result = do()
        if self.lose(name):
            raise ApiError(0, "ClientOSError", "connection reset")
        await asyncio.sleep(self.delay / 2)
        return result

"""Raw clients that follow references as Envoy does, and come back with what they hold whenever their stream ends."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import grpc.aio

from tests.conformance.client import Stream, connect
from tests.conformance.follow import follow
from tests.conformance.wire import BOTH, Received, Variant, node_of

FOLLOWED = ("cds", "lds", "eds", "rds")

PAUSE = 0.4
"""Seconds between two streams of a client, on average."""

_BACK_SOON = (("grpc.min_reconnect_backoff_ms", 200), ("grpc.max_reconnect_backoff_ms", 500))


class Follower:
    """One client with a connection of its own. What it holds outlives its streams."""

    def __init__(self, channel: grpc.aio.Channel, variant: Variant, name: str) -> None:
        self.variant = variant
        self.name = name
        self.holds: dict[str, dict[str, bytes]] = {}
        self.got: list[Received] = []
        self.codes: Counter[grpc.StatusCode] = Counter()
        self._channel = channel
        self._names: dict[str, set[str]] = {}
        self._version: dict[str, str] = {}
        self._versions: dict[str, dict[str, str]] = {}

    async def run(self) -> None:
        """Open one stream after the other until cancelled."""
        while True:
            async with Stream(self._channel, self.variant, node_of(self.name), answer=self._take) as stream:
                stream.holds = self.holds
                self._ask(stream)
                code, _ = await stream.end(within=600)
                self.codes[code] += 1
                self._names = stream.names
            await asyncio.sleep(PAUSE * (0.5 + random.random()))

    def sent(self) -> dict[str, set[str]]:
        """Type → names of the resources in `got`."""
        names: dict[str, set[str]] = {}
        for each in self.got:
            names.setdefault(each.key, set()).update(each.names)
        return {key: found for key, found in names.items() if found}

    def removed(self) -> dict[str, set[str]]:
        """Type → names that were taken away in `got` (delta)."""
        return {each.key: set(each.removed) for each in self.got if each.removed}

    def _ask(self, stream: Stream) -> None:
        """Ask for what the stream before asked for, and claim what is held."""
        for key in FOLLOWED:
            if key in {"cds", "lds"} or self._names.get(key):
                names, version = self._names.get(key, ()), self._version.get(key, "")
                stream.ask(key, *names, version=version, initial=self._versions.get(key))

    def _take(self, stream: Stream, response: Received) -> None:
        self.got.append(response)
        stream.received.clear()
        self._version[response.key] = response.version
        versions = self._versions.setdefault(response.key, {})
        versions.update(response.versions)
        for name in response.removed:
            versions.pop(name, None)
        follow(stream, response)


@asynccontextmanager
async def followers(target: str, count: int) -> AsyncIterator[list[Follower]]:
    """`count` clients, every other one in each variant, for as long as the block lasts."""
    async with AsyncExitStack() as stack:
        channels = [await stack.enter_async_context(connect(target, _BACK_SOON)) for _ in range(count)]
        made = [Follower(each, BOTH[at % 2], f"{BOTH[at % 2]}-{at}") for at, each in enumerate(channels)]
        tasks = [asyncio.create_task(each.run()) for each in made]
        try:
            yield made
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended), f"clients ended by themselves: {ended}"

"""Clients that come back: a new stream whenever the server ends one, saying what they hold, as Envoy does."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import grpc
import grpc.aio
from envoy.config.core.v3 import base_pb2

from tests.conformance.client import Stream
from tests.conformance.wire import Received, Variant


@dataclass(slots=True)
class Visit:
    """One stream of a client: when it was opened and when it ended (monotonic seconds), how, and what came."""

    opened: float
    ended: float = 0.0
    code: grpc.StatusCode = grpc.StatusCode.OK
    bytes: int = 0
    names: set[str] = field(default_factory=set)


class Returning:
    """One client that wants all clusters, and goes on wanting them."""

    def __init__(self, channel: grpc.aio.Channel, variant: Variant, node: base_pb2.Node | str) -> None:
        self.variant = variant
        self.visits: list[Visit] = []
        self.stream: Stream | None = None
        self.holds: dict[str, bytes] = {}
        self._channel = channel
        self._node = node
        self._versions: dict[str, str] = {}
        self._version = ""

    async def run(self) -> None:
        """Open one stream after the other until cancelled."""
        while True:
            visit = Visit(time.monotonic())
            self.visits.append(visit)
            async with Stream(self._channel, self.variant, self._node, answer=self._take) as self.stream:
                self.stream.holds["cds"] = self.holds
                self.stream.ask("cds", initial=self._versions, version=self._version)
                visit.code, _ = await self.stream.end(within=600)
            visit.ended = time.monotonic()
            if visit.code is not grpc.StatusCode.UNAVAILABLE:
                return  # Not an end that a client comes back from by itself; the test looks at the code.
            await asyncio.sleep(0)

    def _take(self, stream: Stream, response: Received) -> None:
        visit = self.visits[-1]
        visit.bytes += response.size
        visit.names |= response.names | response.removed
        self._version = response.version
        self._versions.update(response.versions)
        stream.ack(response)

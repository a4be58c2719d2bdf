"""A raw xDS client on grpc.aio, SotW and Delta: records every response, and answers as the test wants.

It knows nothing of the server but its address, so the same tests can be tried on any server.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Self

import grpc
import grpc.aio
from envoy.config.core.v3 import base_pb2
from google.protobuf.message import Message

from tests.conformance.wire import WHOLE, Received, Variant, delta_request, marks_of, node_of, read, sotw_request

ADS = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"
METHODS = {Variant.SOTW: f"{ADS}StreamAggregatedResources", Variant.DELTA: f"{ADS}DeltaAggregatedResources"}

QUIET = 0.6
"""Seconds in which nothing may come where nothing is due."""

WITHIN = 5.0
"""Seconds within which what is due must come; the limits of a case are the case's own."""

SLACK = float(os.environ.get("TIDEGATE_TEST_SLACK", "3"))
"""Limits of time are multiplied by this; they are meant for a quiet machine."""

OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own for each channel, as each Envoy has
)

Answer = Callable[["Stream", Received], None]
"""What is done with each response as soon as it is read."""


class StreamEndedError(Exception):
    """The server ended the stream while something was awaited."""


def accept(stream: Stream, response: Received) -> None:
    """ACK at once."""
    stream.ack(response)


def hold(_stream: Stream, _response: Received) -> None:
    """Answer nothing."""


def refuse(stream: Stream, response: Received) -> None:
    """NACK at once."""
    stream.nack(response, "refused by the test")


@asynccontextmanager
async def connect(target: str, options: Iterable[tuple[str, int]] = ()) -> AsyncIterator[grpc.aio.Channel]:
    """A connection of its own; further gRPC `options` come on top of ours."""
    channel = grpc.aio.insecure_channel(target, options=[*OPTIONS, *options])
    try:
        yield channel
    finally:
        await channel.close()


class Stream:
    """One stream of one node. `async with` opens and cancels it; `answer` may be exchanged at any time.

    `received` holds all responses in order, `holds` what the client would have after accepting them.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        variant: Variant,
        node: base_pb2.Node | str | None,
        *,
        answer: Answer = accept,
        method: str = "",
        metadata: Iterable[tuple[str, str]] = (),
        node_always: bool = False,
    ) -> None:
        self.variant = variant
        self.node = node_of(node) if isinstance(node, str) else node
        self.answer = answer
        self.received: list[Received] = []
        self.holds: dict[str, dict[str, bytes]] = {}
        self.names: dict[str, set[str]] = {}
        self.ended: tuple[grpc.StatusCode, str] | None = None
        self.reading = asyncio.Event()
        self.reading.set()
        self._accepted: dict[str, str] = {}
        self._nonces: dict[str, str] = {}
        self._read_up_to: Counter[str] = Counter()
        self._node_always = node_always
        self._node_sent = False
        self._call: Any = channel.stream_stream(method or METHODS[variant])(metadata=tuple(metadata))
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        self._news = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._read())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- asking and answering ---------------------------------------------------------------------------

    def ask(self, key: str, *names: str, initial: Mapping[str, str] | None = None, version: str = "") -> None:
        """Change the subscription of a type to exactly `names`; with none at first it is the legacy wildcard."""
        before = self.names.get(key, set())
        wanted = self.names[key] = set(names)
        if self.variant is Variant.SOTW:
            told = version or self._accepted.get(key, "")
            self.send(sotw_request(key, wanted, version=told, nonce=self._nonces.get(key, "")))
        else:
            self.send(delta_request(key, wanted - before, before - wanted, initial=initial))

    def ack(self, response: Received) -> None:
        """Accept a response."""
        self._accepted[response.key] = response.version
        if self.variant is Variant.SOTW:
            names = self.names.get(response.key, ())
            self.send(sotw_request(response.key, names, version=response.version, nonce=response.nonce))
        else:
            self.send(delta_request(response.key, nonce=response.nonce))

    def nack(self, response: Received, message: str) -> None:
        """Refuse a response: its nonce, the version accepted before, and why."""
        if self.variant is Variant.SOTW:
            names, version = self.names.get(response.key, ()), self._accepted.get(response.key, "")
            self.send(sotw_request(response.key, names, version=version, nonce=response.nonce, error=message))
        else:
            self.send(delta_request(response.key, nonce=response.nonce, error=message))

    def send(self, message: Message | bytes) -> None:
        """Send any message, or any bytes; the first message gets the node."""
        if isinstance(message, bytes):
            self._outgoing.put_nowait(message)
            return
        if self.node is not None and (self._node_always or not self._node_sent):
            message.node.CopyFrom(self.node)  # type: ignore[attr-defined]
            self._node_sent = True
        self._outgoing.put_nowait(message.SerializeToString())

    # --- what came --------------------------------------------------------------------------------------

    def of(self, key: str) -> list[Received]:
        """All responses of a type."""
        return [response for response in self.received if response.key == key]

    def names_of(self, key: str) -> set[str]:
        """The names that the client holds of a type."""
        return set(self.holds.get(key, {}))

    async def until(self, holds: Callable[[], object], *, within: float = WITHIN, what: str = "") -> None:
        """Wait for something that a response brings about. Raises TimeoutError, StreamEndedError."""
        try:
            async with asyncio.timeout(within * SLACK), self._news:
                while not holds():
                    if self.ended is not None:
                        raise StreamEndedError(f"{self.ended} while waiting for {what or 'a response'}")
                    await self._news.wait()
        except TimeoutError:
            last = [
                (each.key, each.version[:6], sorted(each.names)[:5], sorted(each.removed)) for each in self.received
            ]
            raise TimeoutError(
                f"not within {within * SLACK:g} s: {what or 'a response'}; received: {last[-8:]}"
            ) from None

    async def next(self, key: str, *, within: float = WITHIN) -> Received:
        """The first response of a type that was not returned before."""
        await self.until(lambda: len(self.of(key)) > self._read_up_to[key], within=within, what=f"{key} response")
        self._read_up_to[key] += 1
        return self.of(key)[self._read_up_to[key] - 1]

    def skip(self) -> None:
        """Take all that has come so far for read."""
        for response in self.received:
            self._read_up_to[response.key] = len(self.of(response.key))

    async def sent(self, key: str, name: str, *, within: float = WITHIN) -> Received:
        """Wait for a response, not yet returned by `next`, that holds a resource of that name."""
        while name not in (response := await self.next(key, within=within)).names:
            pass
        return response

    def unread(self, *keys: str) -> list[Received]:
        """The responses (of these types) that `next` has not returned."""
        wanted = keys or {response.key for response in self.received}
        return [response for key in wanted for response in self.of(key)[self._read_up_to[key] :]]

    async def holding(self, key: str, marks: Mapping[str, object], *, within: float = WITHIN) -> None:
        """Wait until the client holds exactly these marks of a type; all that came until then counts as read."""
        wanted = {name: str(mark) for name, mark in marks.items()}
        what = f"{key} holds {wanted}"
        await self.until(lambda: marks_of(self.holds.get(key, {})) == wanted, within=within, what=what)
        self._read_up_to[key] = len(self.of(key))

    async def quiet(self, *keys: str, seconds: float = QUIET) -> None:
        """Nothing more comes (of these types)."""
        await asyncio.sleep(seconds)
        assert not self.unread(*keys), self.unread(*keys)
        assert self.ended is None, self.ended

    async def end(self, *, within: float = WITHIN) -> tuple[grpc.StatusCode, str]:
        """Wait until the server ends the stream: code and details."""
        with suppress(StreamEndedError):
            await self.until(lambda: self.ended is not None, within=within, what="the end of the stream")
        assert self.ended is not None
        return self.ended

    # --- moving bytes -----------------------------------------------------------------------------------

    async def _write(self) -> None:
        try:
            while True:
                await self._call.write(await self._outgoing.get())
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # The reader tells how the stream ended.

    async def _read(self) -> None:
        try:
            while True:
                await self.reading.wait()
                raw = await self._call.read()
                if raw is grpc.aio.EOF:
                    break
                response = read(self.variant, raw, time.monotonic())
                self._take(response)
                self.answer(self, response)
                async with self._news:
                    self._news.notify_all()
        except grpc.aio.AioRpcError:
            pass
        self.ended = (await self._call.code(), str(await self._call.details()))
        async with self._news:
            self._news.notify_all()

    def _take(self, response: Received) -> None:
        self.received.append(response)
        self._nonces[response.key] = response.nonce
        held = self.holds.setdefault(response.key, {})
        if self.variant is Variant.SOTW and response.key in WHOLE:
            held.clear()
        held.update(response.resources)
        for name in response.removed:
            held.pop(name, None)

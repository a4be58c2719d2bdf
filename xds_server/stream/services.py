"""The gRPC handlers of the discovery services: bytes from the wire to a connection, and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

import grpc
import grpc.aio

from xds_server.stream.admission import DeniedError
from xds_server.stream.auth import CALLER
from xds_server.stream.connection import Connection, LimitError
from xds_server.stream.context import StreamContext
from xds_server.stream.fetch import NotSyncedError, fetch
from xds_server.stream.session import Variant
from xds_server.stream.turned_away import TurnedAway
from xds_server.wire.request import RequestError
from xds_server.wire.services import SERVICES, Service

Context = grpc.aio.ServicerContext[Any, Any]
StreamHandler = Callable[[AsyncIterator[bytes], Context], Awaitable[None]]


class StoppingError(Exception):
    """The server stops, so the stream ends."""


class _End:
    """How a stream ends: its client has no more to say, or somebody gives a reason; the first one counts."""

    __slots__ = ("_come", "_reading", "reason")

    def __init__(self) -> None:
        self.reason: Exception | None = None
        self._come: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reading: Coroutine[Any, Any, None]

    @property
    def has_come(self) -> bool:
        """Whether nothing more is to be taken in."""
        return self._come.done()

    def put(self, reason: Exception) -> None:
        """End the stream for that reason."""
        # Whatever came before: to a client that has left gRPC can say nothing any more.
        if self.reason is None or isinstance(reason, grpc.aio.InternalError):
            self.reason = reason
        self._note()

    def reached_by(self, reading: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
        """What to wait for: done when the client has no more to say, or there is a reason to end.

        `reading` reads until then. It is not cancelled with the call, since gRPC would lose the memory of its operation
        (80 bytes): a read on its way ends by itself with the call. A task of its own would do that too, but costs each
        stream a KiB; so this does what matters of a task, each future that is awaited has it go on.
        """
        self._reading = reading
        self._go_on()
        return self._come

    def _go_on(self, _awaited: asyncio.Future[Any] | None = None) -> None:
        try:
            awaited: asyncio.Future[Any] = self._reading.send(None)
        except (StopIteration, asyncio.CancelledError):
            self._note()
        except Exception as error:  # noqa: BLE001 - as at a task's boundary: it ends this stream
            if not self.has_come:
                self.put(error)
        else:
            awaited._asyncio_future_blocking = False  # Asyncio's handshake: the future has been taken over.
            awaited.add_done_callback(self._go_on)

    def _note(self) -> None:
        if not self._come.done():
            self._come.set_result(None)


class SilentError(Exception):
    """A stream was opened, and nothing was asked on it."""


class DiscoveryServices:
    """All discovery services over one stream context. `stop` ends every stream, so that clients reconnect elsewhere."""

    def __init__(self, shared: StreamContext, turned_away: TurnedAway) -> None:
        self._shared = shared
        self._turned_away = turned_away
        self._ends: set[_End] = set()
        self._none_left = asyncio.Event()
        self._stopping = False

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """A generic handler per service: requests and responses stay bytes."""
        return [grpc.method_handlers_generic_handler(service.name, self._methods(service)) for service in SERVICES]

    def stop(self) -> None:
        """End all streams with UNAVAILABLE, and refuse new ones."""
        self._stopping = True
        for end in self._ends:
            end.put(StoppingError("this server is shutting down"))
        if not self._ends:
            self._none_left.set()

    async def ended(self, within: float) -> None:
        """After `stop`, wait until all streams have ended, but at most so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._none_left.wait(), within)

    def _methods(self, service: Service) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            service.delta: grpc.stream_stream_rpc_method_handler(self._stream(Variant.DELTA, service.type_url))
        }
        if service.stream:
            handler = self._stream(Variant.SOTW, service.type_url)
            methods[service.stream] = grpc.stream_stream_rpc_method_handler(handler)
        if service.fetch and service.type_url:
            methods[service.fetch] = grpc.unary_unary_rpc_method_handler(self._fetch(service.type_url))
        return methods

    def _stream(self, variant: Variant, only_type: str | None) -> StreamHandler:
        return partial(self._serve, variant, only_type)

    async def _serve(
        self, variant: Variant, only_type: str | None, _requests: AsyncIterator[bytes], context: Context
    ) -> None:
        if self._stopping or len(self._ends) >= self._shared.limits.max_streams:
            await self._turn_away(context)
        end = _End()
        connection = Connection(
            self._shared,
            variant,
            context.write,
            end.put,
            peer=_address(context.peer()),
            only_type=only_type,
            caller=CALLER.get(),
        )
        self._ends.add(end)
        try:
            await end.reached_by(_read(context, connection, end, self._shared.limits.silence))
            await connection.finish(flush=end.reason is None)
            await self._conclude(end.reason, context)
        finally:
            self._ends.discard(end)
            if self._stopping and not self._ends:
                self._none_left.set()
            connection.close()

    async def _turn_away(self, context: Context) -> NoReturn:
        if self._stopping:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "this server is shutting down")
        self._shared.meter.rejected("streams")
        limit = self._shared.limits.max_streams
        text = f"{limit} streams are open; no more are allowed (xds.max_streams)"
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, text)

    async def _conclude(self, reason: Exception | None, context: Context) -> None:
        """Say why the stream ends; a client that has simply ended needs no word."""
        match reason:
            case None:
                return
            case StoppingError():
                await context.abort(grpc.StatusCode.UNAVAILABLE, str(reason))
            case RequestError():
                self._shared.meter.rejected("request")
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(reason))
            case DeniedError():
                await self._deny(reason, context)
            case SilentError():
                self._shared.meter.rejected("silent")
                await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, str(reason))
            case LimitError():
                self._shared.meter.rejected("limit")
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(reason))
            case grpc.aio.InternalError():
                raise asyncio.CancelledError  # A write has failed: the client has left, gRPC could send no status.
            case _:
                raise reason

    async def _deny(self, error: DeniedError, context: Context) -> NoReturn:
        self._turned_away.denied(str(context.peer()), error)
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(error))

    def _fetch(self, type_url: str) -> Any:
        async def handle(raw: bytes, context: Context) -> bytes:
            try:
                return fetch(self._shared, CALLER.get(), type_url, raw)
            except RequestError as error:
                self._shared.meter.rejected("request")
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            except DeniedError as error:
                await self._deny(error, context)
            except NotSyncedError as error:
                await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

        return handle


async def _read(context: Context, connection: Connection, end: _End, silence: float) -> None:
    """Hand every request to the connection; the first has to come within `silence` seconds.

    Not by the iterator that gRPC offers, nor by a variable: both would keep the last request, and with it Envoy's
    node (61 KB), until the next one comes, which may be tomorrow.
    """
    more = _take(await _first(context, end, silence), connection, end)
    while more and _take(await context.read(), connection, end):
        await connection.room()


async def _first(context: Context, end: _End, silence: float) -> bytes | Any:
    error = SilentError("nothing was asked on this stream")
    timer = asyncio.get_running_loop().call_later(silence, end.put, error)
    try:
        return await context.read()
    finally:
        timer.cancel()


def _take(raw: bytes | Any, connection: Connection, end: _End) -> bool:
    """Take a request in; false at the end of requests."""
    if raw is grpc.aio.EOF or end.has_come:
        return False
    connection.receive(raw)
    return True


def _address(peer: str) -> str:
    """GRPC's peer (`ipv4:127.0.0.1:5000`, `ipv6:%5B::1%5D:5000`) as host:port."""
    _, _, address = peer.partition(":")
    return address.replace("%5B", "[").replace("%5D", "]")

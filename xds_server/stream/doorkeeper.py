"""The doorkeeper: before any service is reached, every call says who makes it."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import grpc
import grpc.aio

from xds_server.credentials.reviewed import UnavailableError
from xds_server.credentials.tokens import bearer
from xds_server.stream.auth import CALLER, Authenticator, Proof
from xds_server.stream.turned_away import TurnedAway

Context = grpc.aio.ServicerContext[Any, Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"  # generic to the stubs only
Details = grpc.HandlerCallDetails
Ask = Callable[[Context], Awaitable[None]]


class Doorkeeper:
    """Finds out who calls, for streams and single calls of every service but the open ones, or ends the call.

    Handlers are wrapped; gRPC's interceptors would cost each call a reference cycle, which is garbage for the collector.
    """

    def __init__(self, auth: Authenticator, turned_away: TurnedAway, open_services: tuple[str, ...]) -> None:
        """Let everybody reach `open_services`, given by their full names."""
        self._auth = auth
        self._turned_away = turned_away
        self._open = open_services

    def guard(self, handlers: grpc.GenericRpcHandler) -> grpc.GenericRpcHandler:
        """The same handlers with the question before each."""
        return _Guarded(handlers, self._open, self._ask)

    async def _ask(self, context: Context) -> None:
        try:
            identity = self._auth.identify(await self._auth.reviewed(proof_of(context)))
        except UnavailableError as error:
            self._turned_away.unsure(str(context.peer()), error)
            await context.abort(grpc.StatusCode.UNAVAILABLE, f"nobody can be asked about this token now: {error}")
        if identity is not None:
            CALLER.set(identity)
            return
        self._turned_away.unknown(str(context.peer()))
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, self._auth.demand)


class Door:
    """What services are added to instead of to a server, by generated code too: all of them get the doorkeeper's question."""

    def __init__(self, server: grpc.aio.Server, doorkeeper: Doorkeeper) -> None:
        """Lead to that server, past that doorkeeper."""
        self._server = server
        self._doorkeeper = doorkeeper

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """See `grpc.aio.Server`."""
        self._server.add_generic_rpc_handlers(tuple(map(self._doorkeeper.guard, handlers)))

    def add_registered_method_handlers(self, service_name: str, method_handlers: Mapping[str, Handler]) -> None:
        """Generated code tells its methods here a second time; they would win over those that ask."""


class _Guarded(grpc.GenericRpcHandler):
    """Handlers that ask first."""

    def __init__(self, inner: grpc.GenericRpcHandler, open_services: tuple[str, ...], ask: Ask) -> None:
        self._inner = inner
        self._open = open_services
        self._ask = ask
        self._made: dict[str, Handler] = {}

    def service(self, handler_call_details: Details) -> Handler | None:
        """See `grpc.GenericRpcHandler`."""
        handler = self._inner.service(handler_call_details)
        method = str(handler_call_details.method)
        # None: there is no such method here.
        if handler is None or method.split("/")[1] in self._open:
            return handler
        if method not in self._made:
            self._made[method] = _wrapped(handler, self._ask)
        return self._made[method]


def proof_of(context: Context) -> Proof:
    """What the transport says of a caller: gRPC puts a certificate's names there once it has verified it."""
    shown = context.auth_context()
    headers = [value for key, value in context.invocation_metadata() or () if key == "authorization"]
    # Two of them are one too many: nobody can say which one the caller means.
    token = bearer(_text(headers[0])) if len(headers) == 1 else ""
    return Proof(_only(shown, "peer_spiffe_id"), _only(shown, "x509_subject"), token)


def _only(shown: Any, key: str) -> str:
    values = shown.get(key, ())
    return _text(values[0]) if len(values) == 1 else ""


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")


def _wrapped(handler: Handler, ask: Ask) -> Handler:
    """The same handler with the question before it, whichever of gRPC's four forms it has."""
    forms = {
        (False, False): (handler.unary_unary, grpc.unary_unary_rpc_method_handler),
        (False, True): (handler.unary_stream, grpc.unary_stream_rpc_method_handler),
        (True, False): (handler.stream_unary, grpc.stream_unary_rpc_method_handler),
        (True, True): (handler.stream_stream, grpc.stream_stream_rpc_method_handler),
    }
    behaviour, make = forms[handler.request_streaming, handler.response_streaming]
    made: Handler = make(_asking(behaviour, ask), handler.request_deserializer, handler.response_serializer)
    return made


def _asking(behaviour: Any, ask: Ask) -> Any:
    async def answer(request: Any, context: Context) -> Any:
        await ask(context)
        return await behaviour(request, context)

    async def generate(request: Any, context: Context) -> AsyncIterator[Any]:
        await ask(context)
        async for response in behaviour(request, context):
            yield response

    return generate if inspect.isasyncgenfunction(behaviour) else answer

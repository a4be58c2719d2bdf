"""`/v1/events`: what happens, as server-sent events (WHATWG HTML, "Server-sent events")."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from aiohttp import web
from aiohttp_sse import EventSourceResponse, sse_response

from xds_server.admin.answers import flag
from xds_server.admin.deps import DEPS
from xds_server.admin.shapes import encode
from xds_server.ir.events import Event
from xds_server.status.events import EventBus
from xds_server.status.stamps import stamp

HEARTBEAT = 15.0
"""Seconds between comments that keep proxies from ending a quiet stream, and tell us of clients that left."""

STREAMS = web.AppKey("streams", set[EventSourceResponse])
"""The streams that are open, so that shutting down ends them."""


async def follow(request: web.Request) -> web.StreamResponse:
    """Send events until the client leaves, falls 1,000 events behind, or the server stops.

    With `follow=false` what is kept is all that is sent.
    """
    bus = request.app[DEPS].bus
    if flag(request, "follow") is False:
        return await _send_kept(request, bus)
    after = _start(request, bus)
    # LF alone: all parsers take it, and so do line tools.
    async with sse_response(request, sep="\n", ping_interval=HEARTBEAT) as stream:
        request.app[STREAMS].add(stream)
        pump = asyncio.create_task(_pump(bus, after, stream))
        pump.add_done_callback(lambda _: stream.stop_streaming())
        try:
            await stream.wait()  # until its heartbeat finds nobody, or somebody stops it
        finally:
            request.app[STREAMS].discard(stream)
            pump.cancel()
            with suppress(asyncio.CancelledError, ConnectionError, TimeoutError):
                await pump
    return stream


async def _send_kept(request: web.Request, bus: EventBus) -> web.StreamResponse:
    after = 0 if _seen(request) is None else _start(request, bus)
    async with sse_response(request, sep="\n") as stream:
        for event in bus.recent():
            if event.id > after:
                await stream.send(_data(event), id=str(event.id), event=event.kind)
    return stream


async def end_all(app: web.Application) -> None:
    """End every stream; called when the server stops."""
    streams = app[STREAMS]
    for stream in tuple(streams):
        stream.stop_streaming()


def _start(request: web.Request, bus: EventBus) -> int:
    """The id after which to begin: what the client has seen, else what there is now.

    Ids begin anew with each process: an id that was not given yet is of an earlier one, so all that is kept is new.
    """
    kept = bus.recent()
    newest = kept[-1].id if kept else 0
    seen = _seen(request)
    if seen is None:
        return newest
    return seen if seen <= newest else 0


def _seen(request: web.Request) -> int | None:
    """The id of the last event that the client has seen, None when it tells none."""
    seen = request.headers.get("Last-Event-ID", "")
    return int(seen) if seen.isascii() and seen.isdigit() else None


async def _pump(bus: EventBus, after: int, stream: EventSourceResponse) -> None:
    async for event in bus.follow(after):
        await stream.send(_data(event), id=str(event.id), event=event.kind)


def _data(event: Event) -> str:
    return encode({"at": stamp(event.at), **event.data}).decode()

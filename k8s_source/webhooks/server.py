"""The HTTPS server of the webhooks: two POSTs, health, metrics; it ends what it has begun."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import structlog
from aiohttp import web

from k8s_source.webhooks import admission, converting
from k8s_source.webhooks.authority import Pair, context_of
from k8s_source.webhooks.ports import Meter
from k8s_source.webhooks.review import ReviewError
from k8s_source.webhooks.teller import CONVERT, VALIDATE

MOST_BYTES = 64 * 1024 * 1024
"""Of a request. API servers of today ask for one object at a time; a list of many in one is as right."""

GRACE = 10.0
"""Seconds that requests under way are given when the server stops. API servers wait 30 at most, for conversion."""

_BODIES = {CONVERT: converting.answer, VALIDATE: admission.answer}
_log = structlog.get_logger(__name__)

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebhookServer:
    """Serves on one address; which pair it serves with may change at any time."""

    def __init__(self, meter: Meter) -> None:
        """Prepare; nothing is bound before `start`."""
        self._meter = meter
        self._context: ssl.SSLContext | None = None
        self._runner: web.AppRunner | None = None
        self.is_ready = False
        """Whether `/readyz` says so."""

    def use(self, pair: Pair) -> None:
        """Serve new connections with this pair.

        Raises:
            ValueError: It is none.
        """
        self._context = context_of(pair)

    async def start(self, host: str, port: int) -> str:
        """Bind and serve with the pair that was given to `use`; `host:port` as it is bound.

        Raises:
            OSError: The address can't be bound.
        """
        app = web.Application(client_max_size=MOST_BYTES, middlewares=[self._counted])
        app.add_routes([web.post(path, self._review) for path in _BODIES])
        app.add_routes([web.get("/healthz", self._health), web.get("/readyz", self._readiness)])
        app.add_routes([web.get("/metrics", self._metrics)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port, ssl_context=self._newest()).start()
        except OSError:
            await self.stop()
            raise
        bound, number = self._runner.addresses[0][:2]
        return f"[{bound}]:{number}" if ":" in bound else f"{bound}:{number}"

    async def stop(self) -> None:
        """Say that it is not ready, stop listening, and give requests under way `GRACE` seconds."""
        self.is_ready = False
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _newest(self) -> ssl.SSLContext:
        """A context that has each handshake use the newest one. OpenSSL makes this call with and without a name."""

        def exchange(connection: ssl.SSLSocket | ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> None:
            if self._context is not None:
                connection.context = self._context

        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.sni_callback = exchange
        return context

    @web.middleware
    async def _counted(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if request.path not in _BODIES:
            return await handler(request)
        begun, status = time.monotonic(), HTTPStatus.INTERNAL_SERVER_ERROR
        try:
            response = await handler(request)
            status = HTTPStatus(response.status)
        except web.HTTPException as error:
            status = HTTPStatus(error.status)
            raise
        finally:
            self._meter.webhook_answered(request.path, str(status.value), time.monotonic() - begun)
        return response

    async def _review(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            # Of many objects it takes long, and others ask for health meanwhile.
            made, outcome = await asyncio.to_thread(_BODIES[request.path], body)
        except ReviewError as error:
            _log.warning("malformed_review", path=request.path, remote=request.remote, error=str(error))
            return web.Response(text=f"{error}\n", status=HTTPStatus.BAD_REQUEST)
        _log.debug("answered", path=request.path, outcome=outcome, bytes=len(body))
        return web.Response(body=made, content_type="application/json")

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readiness(self, _: web.Request) -> web.Response:
        status = HTTPStatus.OK if self.is_ready else HTTPStatus.SERVICE_UNAVAILABLE
        return web.Response(text="ok\n" if self.is_ready else "not ready\n", status=status)

    async def _metrics(self, request: web.Request) -> web.Response:
        body, content_type = await self._meter.render(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

"""Answers to what is no valid HTTP: a problem document as for any other error, and no traceback in the log."""

from __future__ import annotations

from http import HTTPStatus

import structlog
from aiohttp import http_exceptions, web

from xds_server.admin.shapes import Problem, encode

log = structlog.get_logger(__name__)


IDLE_WITHIN = 30.0
"""Seconds until a request's headers must have come, from connecting or from the answer before."""


class Runner(web.AppRunner):
    """Runs an application; what aiohttp can't parse is answered by us."""

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        return _Server(
            made.request_handler, request_factory=made.request_factory, access_log=None, keepalive_timeout=IDLE_WITHIN
        )


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Handler(self, loop=self._loop, **self._kwargs)


class _Handler(web.RequestHandler):
    """aiohttp calls `handle_error` for requests that never reach the application.

    Port scanners and browsers that speak TLS make many of them, so they are logged at `debug` only.
    """

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a request that can't be parsed."""
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or request.writer.output_size:
            return super().handle_error(request, status, exc, message)
        log.debug("malformed_request", remote=request.remote, error=type(exc).__name__)
        is_long = isinstance(exc, http_exceptions.LineTooLong)
        detail = "a line or a header of the request is too long" if is_long else "the request is no valid HTTP"
        document = Problem("about:blank", HTTPStatus(status).phrase, status, detail, request.rel_url.raw_path, [])
        response = web.Response(
            body=encode(document),
            status=status,
            content_type="application/problem+json",
            headers={"Cache-Control": "no-store"},
        )
        response.force_close()
        return response

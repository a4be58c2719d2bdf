"""`/healthz`, `/readyz` and `/metrics`: what machines ask."""

from __future__ import annotations

from http import HTTPStatus

from aiohttp import web

from xds_server.admin.answers import answer
from xds_server.admin.deps import DEPS
from xds_server.admin.problems import RefusedError
from xds_server.admin.shapes import Health


async def alive(_request: web.Request) -> web.Response:
    """Answers as long as the event loop turns."""
    return answer(Health("ok"))


async def ready(request: web.Request) -> web.Response:
    """Whether Envoys should be sent here; if not, a problem with the reason."""
    reason = request.app[DEPS].ready()
    if reason is not None:
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, reason)
    return answer(Health("ok"))


async def metrics(request: web.Request) -> web.Response:
    """All metrics, as Prometheus text or OpenMetrics."""
    body, content_type = await request.app[DEPS].metrics_text(request.headers.get("Accept", ""))
    return web.Response(body=body, headers={"Content-Type": content_type})

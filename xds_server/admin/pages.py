"""`/` and `/openapi.json`: what there is to ask, for people and for programs."""

from __future__ import annotations

from aiohttp import web

from xds_server.admin.answers import answer

INDEX = web.AppKey("index", str)
"""The page at `/`, made with the application."""

OPENAPI = web.AppKey("openapi", bytes)
"""The OpenAPI document, made with the application."""


async def index(request: web.Request) -> web.Response:
    """A plain list of all paths."""
    return web.Response(text=request.app[INDEX], content_type="text/html")


async def openapi(request: web.Request) -> web.Response:
    """The OpenAPI document."""
    return answer(request.app[OPENAPI])

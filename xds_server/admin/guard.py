"""Guards against browsers that strangers make use of: DNS rebinding, cross-site writes, framing; and slow bodies.

A browser on this machine can be told that evil.example is 127.0.0.1. Its requests then carry that name as
`Host`, so an API that trusts this machine answers to addresses and to names that are known, no others. And a
page of strangers can send a write without being allowed to see the answer: browsers tell by `Origin` whose it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

from xds_server.admin.problems import Handler, RefusedError, problem
from xds_server.admin.rights import READS

MAX_BODY = 16 * 1024 * 1024
"""Bytes of a request's body."""

BODY_WITHIN = 10.0
"""Seconds until it must have come."""

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def only_hosts(names: Iterable[str], *, everywhere: bool = True) -> Middleware:
    """A middleware that answers to IP addresses, `localhost` and these names only.

    Unless `everywhere`, it lets clients of other machines use any name: these are trusted for nothing.
    """
    known = {"localhost", *(name.rstrip(".").lower() for name in names)}

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        name = _name(request.host)
        if name in known or _is_address(name) or not (everywhere or _is_loopback(request.remote)):
            return await handler(request)
        detail = f"this API does not answer as {name!r}; use its address, or add the name to admin.hosts"
        return problem(request, HTTPStatus.MISDIRECTED_REQUEST, detail)

    return check


@web.middleware
async def same_origin(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse writes that a browser sends for a page that is not ours (Fetch, "Origin" and "Sec-Fetch-Site")."""
    if request.method not in READS:
        origin = request.headers.get("Origin")
        is_foreign = origin is not None and urlsplit(origin).netloc.lower() != request.host.lower()
        if is_foreign or request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return problem(request, HTTPStatus.FORBIDDEN, "changes are not taken from pages of other origins")
    return await handler(request)


@web.middleware
async def whole_body(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Read the body of a write before its handler runs, so that nothing is half done while a client dawdles."""
    if request.method not in READS:
        try:
            async with asyncio.timeout(BODY_WITHIN):
                await request.read()
        except TimeoutError:
            detail = f"the body has not come within {BODY_WITHIN:g} s"
            raise RefusedError(HTTPStatus.REQUEST_TIMEOUT, detail) from None
    return await handler(request)


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Tell browsers that what is answered is to be read, and neither run, framed nor guessed at."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)


def _name(host: str) -> str:
    """The host of `host:port`, in lower case and without the brackets of an IPv6 address."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].rstrip(".").lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(remote: str | None) -> bool:
    return remote is not None and _is_address(remote) and ip_address(remote).is_loopback

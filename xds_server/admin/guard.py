"""A guard against DNS rebinding: pages of strangers must not read an API that listens on loopback.

A browser on this machine can be told that evil.example is 127.0.0.1. Its requests then carry that name as
`Host`, so an API that only this machine may use answers to addresses and to names that are known, no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from ipaddress import ip_address

from aiohttp import web
from aiohttp.typedefs import Middleware

from xds_server.admin.problems import Handler, problem


def only_hosts(names: Iterable[str]) -> Middleware:
    """A middleware that answers to IP addresses, `localhost` and these names only."""
    known = {"localhost", *(name.lower() for name in names)}

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        name = _name(request.host)
        if name in known or _is_address(name):
            return await handler(request)
        detail = f"this API listens on loopback only and does not answer as {name!r}; use its address"
        return problem(request, HTTPStatus.MISDIRECTED_REQUEST, detail)

    return check


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

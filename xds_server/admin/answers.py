"""Answers as JSON, and the parameters of requests; shared by the handlers."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec
from aiohttp import web

from xds_server.admin.problems import bad_request
from xds_server.admin.shapes import FieldError, encode
from xds_server.sources.turns import Turns

T = TypeVar("T")

_LARGE = 1 << 20


def answer(value: object) -> web.Response:
    """A shape, or JSON that is ready as bytes, as a response."""
    body = value if isinstance(value, bytes) else encode(value)
    # A large body goes out in pieces, as fast as the client takes it.
    return web.Response(
        body=io.BytesIO(body) if len(body) > _LARGE else body,
        content_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


async def encoded(items: Iterable[T], convert: Callable[[T], object]) -> list[msgspec.Raw]:
    """Convert and encode many items on the event loop, letting others go first every 2 ms."""
    made: list[msgspec.Raw] = []
    turns = Turns()
    for item in items:
        made.append(msgspec.Raw(encode(convert(item))))
        await turns.take()
    return made


def required(request: web.Request, *names: str) -> list[str]:
    """The values of query parameters that must be there.

    Raises:
        RefusedError: One is missing or empty.
    """
    missing = [FieldError(name, "this parameter is required") for name in names if not request.query.get(name)]
    if missing:
        raise bad_request(*missing)
    return [request.query[name] for name in names]


def number(request: web.Request, name: str, most: int, least: int = 0) -> int | None:
    """A query parameter that is a whole number from `least` to `most`; None when it is not given.

    Raises:
        RefusedError: It is something else.
    """
    text = request.query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise bad_request(FieldError(name, f"found {text!r}, expected a whole number from {least} to {most}"))
    return int(text)


def flag(request: web.Request, name: str) -> bool | None:
    """A query parameter that is `true` or `false`; None when it is not given.

    Raises:
        RefusedError: It is something else.
    """
    text = request.query.get(name)
    if text is None:
        return None
    if text not in ("true", "false"):
        raise bad_request(FieldError(name, f"found {text!r}, expected true or false"))
    return text == "true"

"""What requests that change something have in common: who may, who it was, and what they say."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import TypeVar

import msgspec
from aiohttp import web

from xds_server.admin.problems import RefusedError, bad_request
from xds_server.admin.rights import CALLER
from xds_server.admin.shapes import FieldError
from xds_server.sources.files.document import is_name, twice
from xds_server.sources.files.json_reader import key_that_stands_twice

Body = TypeVar("Body", bound=msgspec.Struct)

_FIELD = re.compile(r"(?P<message>.*?)(?: - at `\$\.?(?P<field>[^`]*)`)?$", re.DOTALL)
"""How msgspec tells what is wrong: where stands at the end."""


def actor_of(request: web.Request) -> str:
    """Who sends a request, for the audit log: the role of its token, or else the client's address."""
    return request[CALLER].name


async def body_of(request: web.Request, shape: type[Body]) -> Body:
    """What a request says, as JSON.

    Only as `application/json`: a page of strangers can't make a browser send that without asking first.

    Raises:
        RefusedError: It is something else, or not of this shape.
    """
    if request.content_type != "application/json":
        detail = f"found a body of type {request.content_type}, expected application/json"
        raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
    text = await request.read()
    try:
        body = msgspec.json.decode(text, type=shape)
        again = await asyncio.to_thread(key_that_stands_twice, text)
    except msgspec.ValidationError as error:
        raise bad_request(_told(str(error))) from None
    except RecursionError:
        raise bad_request(FieldError("", "the body is nested too deeply")) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise bad_request(FieldError("", "the body is no valid JSON")) from None
    if again is not None:
        raise bad_request(FieldError(again if is_name(again) else "", twice(again)))
    return body


def _told(text: str) -> FieldError:
    found = _FIELD.match(text)
    message, field = (found["message"], found["field"] or "") if found else (text, "")
    missing = re.search(r"(?:missing required|contains unknown) field `([^`]*)`", message)
    return FieldError(missing[1] if missing and not field else field, message[:1].lower() + message[1:])

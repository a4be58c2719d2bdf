"""`/v1/sources` and `/v1/explain`: where things come from."""

from __future__ import annotations

from http import HTTPStatus

from aiohttp import web

from xds_server.admin import present, shapes
from xds_server.admin.answers import answer, required
from xds_server.admin.deps import DEPS
from xds_server.admin.groups import find_group
from xds_server.admin.problems import RefusedError, not_found
from xds_server.admin.shapes import FieldError
from xds_server.snapshot.snapshot import Snapshot
from xds_server.wire.types import PREFIX, URL_BY_KEY, key_of, url_of


async def list_sources(request: web.Request) -> web.Response:
    """How every source fares."""
    return answer(shapes.Sources([present.source(each) for each in request.app[DEPS].sources()]))


async def explain(request: web.Request) -> web.Response:
    """Which objects made a resource."""
    group_name, key, name = required(request, "group", "type", "name")
    url = url_of(key)
    if not url.startswith(PREFIX):
        text = f"there is no type {key!r}, expected one of {', '.join(URL_BY_KEY)} or a type URL"
        raise RefusedError(HTTPStatus.NOT_FOUND, text, [FieldError("type", "expected a short key or a type URL")])
    group = find_group(request, group_name)
    current = group.current
    resource = current.typeset(url).get(name) if current and url in current.types else None
    if resource is None:
        raise not_found(f"resource of type {key_of(url)} in group {group_name!r}{_why(current, url, name)} named", name)
    return answer(
        shapes.Explanation(
            group_name, key_of(url), name, resource.version, present.origins(resource.origins), observations=[]
        )
    )


def _why(current: Snapshot | None, url: str, name: str) -> str:
    """That it is declared and left out, where it is."""
    for each in current.left_out if current else ():
        if (each.type_url, each.name) == (url, name):
            return f" (it is left out: {each.message})"
    return ""

"""`/v1/sources` and `/v1/explain`: where things come from."""

from __future__ import annotations

from http import HTTPStatus

from aiohttp import web

from xds_server.admin import gateway_views, present, shapes
from xds_server.admin.answers import answer, required
from xds_server.admin.deps import DEPS
from xds_server.admin.groups import find_group
from xds_server.admin.problems import RefusedError, not_found
from xds_server.admin.shapes import FieldError
from xds_server.ir.facts import Query
from xds_server.ir.gateway import GatewayKey
from xds_server.snapshot.snapshot import Snapshot
from xds_server.status.delivery import KIND
from xds_server.status.gateway_book import GatewayBook
from xds_server.wire.resource import Resource
from xds_server.wire.types import PREFIX, ROUTE, URL_BY_KEY, key_of, url_of


async def list_sources(request: web.Request) -> web.Response:
    """How every source fares."""
    return answer(shapes.Sources([present.source(each) for each in request.app[DEPS].sources()]))


async def explain(request: web.Request) -> web.Response:
    """Which objects made a resource, and what was observed."""
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
    observations = _observations(resource, request.app[DEPS].gateways) if url == ROUTE else []
    return answer(
        shapes.Explanation(
            group_name, key_of(url), name, resource.version, present.origins(resource.origins), observations
        )
    )


def _observations(resource: Resource, book: GatewayBook) -> list[shapes.Observation]:
    """What the routes were decided by of the gateways that made a route configuration, each value once."""
    found: dict[Query, shapes.Observation] = {}
    for origin in resource.origins:
        shown = book.get(GatewayKey(origin.namespace, origin.name)) if origin.kind == KIND else None
        for route in shown.routes if shown is not None else ():
            if route.reading is not None and route.reading.sampled:
                found[route.reading.watch.query] = gateway_views.observation(route.reading)
    return list(found.values())


def _why(current: Snapshot | None, url: str, name: str) -> str:
    """That it is declared and left out, where it is."""
    for each in current.left_out if current else ():
        if (each.type_url, each.name) == (url, name):
            return f" (it is left out: {each.message})"
    return ""

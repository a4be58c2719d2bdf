"""`/v1/gateways…` and `/v1/observers`: where routes lead and why, and what is known of what they watch."""

from __future__ import annotations

from aiohttp import web

from xds_server.admin import gateway_shapes, gateway_views
from xds_server.admin.answers import answer, encoded
from xds_server.admin.deps import DEPS
from xds_server.admin.problems import not_found
from xds_server.admin.switches import shown
from xds_server.ir.gateway import GatewayKey


async def list_gateways(request: web.Request) -> web.Response:
    """All gateways."""
    deps = request.app[DEPS]
    now = deps.clock()
    keys = deps.gateways.keys()
    made = await encoded(deps.gateways.shown(keys), lambda each: gateway_views.gateway(each, now))
    return answer({"gateways": made, "switches": shown(deps)})


async def show_gateway(request: web.Request) -> web.Response:
    """One gateway, as a list of one."""
    deps = request.app[DEPS]
    key = GatewayKey(request.match_info["namespace"], request.match_info["name"])
    found = deps.gateways.get(key)
    if found is None:
        raise not_found("gateway", str(key))
    return answer(gateway_shapes.Gateways([gateway_views.gateway(found, deps.clock())], shown(deps)))


async def list_observers(request: web.Request) -> web.Response:
    """All that observers know."""
    deps = request.app[DEPS]
    watchers, now = deps.gateways.watched(), deps.clock()
    found = sorted(deps.observations(), key=lambda each: (each.query.observer, str(each.query)))
    made = await encoded(found, lambda each: gateway_views.observed(each, watchers[each.query], now))
    return answer({"observers": made})

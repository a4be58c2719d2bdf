"""Routes that are frozen: each stays as it was, whatever its gateway declares now; the rest of the gateway goes on."""

from __future__ import annotations

from dataclasses import replace

from xds_server.derive.collection import Collection, Read
from xds_server.derive.engine import Engine
from xds_server.derive.facts import Facts
from xds_server.ir.gateway import Gateway, GatewayKey, Route
from xds_server.ir.switches import Frozen


def gateways_as_frozen(
    engine: Engine, gateways: Collection[GatewayKey, Gateway], facts: Facts
) -> Collection[GatewayKey, Gateway]:
    """The gateways with their frozen routes in the place of what is declared, and of what is declared no more.

    A gateway that is gone takes its frozen routes with it: nothing is left that they could be served on.
    """
    by_gateway = engine.index("frozen routes", facts.frozen, lambda key, _: (GatewayKey(key.namespace, key.gateway),))

    def make(read: Read, key: GatewayKey, gateway: Gateway) -> Gateway:
        found = {each: frozen for each in read(by_gateway, key) or () if (frozen := read(facts.frozen, each))}
        if not found:
            return gateway
        declared = {route.key: route for route in gateway.routes}
        routes = {**declared, **{each: _as_it_was(frozen, declared.get(each)) for each, frozen in found.items()}}
        held = tuple(each.route for each in sorted(found) if routes[each] != declared.get(each))
        return replace(gateway, routes=tuple(routes.values()), held=held)

    return engine.each("gateways as frozen", gateways, make)


def _as_it_was(frozen: Frozen, declared: Route | None) -> Route:
    """The route as it was. What it watches decides nothing now, and is told as it is declared, as what it lacks is."""
    if declared is None:
        return replace(frozen.route, watch=None, missing=())
    return replace(frozen.route, watch=declared.watch, missing=declared.missing)

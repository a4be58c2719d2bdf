"""What is wrong with a DynamicGateway by itself, whatever else there is; and what of it has no effect. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import fields

from k8s_source.kinds.decode import decode_manifest
from k8s_source.kinds.gateway_tidegate import DynamicGateway, RouteSpec
from k8s_source.to_ir.gateways import Surroundings, make_gateway
from xds_server.derive.collection import Collection
from xds_server.ir.objects import Object, Standing
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem

_NOWHERE = Surroundings(Collection("ports of services", 0), Collection("domain names by service", 0))
_WATCHED = ("kafka_topics", "kafka_cluster", "no_commit", "enter_samples", "min_dwell")
"""Fields of a route that say how something is watched."""

_DEFAULTS = {each.name: each.default for each in fields(RouteSpec)}


def judge(body: Mapping[str, object]) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    """All faults of an object, and warnings; fields are named as its version has them."""
    found = decode_manifest(body, Origin("kubernetes"), "default")
    if not isinstance(found, Object):
        return found, ()
    gateway = make_gateway(_nothing, _NOWHERE, found.key, Standing(found))
    faults = () if gateway is None else gateway.problems
    return faults, tuple(_warnings(found.value)) if isinstance(found.value, DynamicGateway) else ()


def _nothing(_: Collection[Any, Any], __: Any, /) -> None:
    """What a gateway finds that looks at other objects: which there are may change at any time."""


def _warnings(gateway: DynamicGateway) -> Iterator[str]:
    for route in gateway.spec.routes:
        if route.limit is not None:
            continue
        if any(getattr(route, name) != _DEFAULTS[name] for name in _WATCHED):
            yield f"route {route.name!r} watches nothing, so how it watches has no effect: it has no threshold"
        if route.degrade_service is not None:
            yield f"route {route.name!r} never leads to degradeService: it has no threshold"

"""Backends: the port of a Service that routes lead to, with the union of its slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from k8s_source.to_ir.services import KnownService, ServedPort, service_key
from k8s_source.to_ir.slices import Slice, Spot
from xds_server.derive.collection import Collection, Read
from xds_server.derive.engine import Engine
from xds_server.ir.backend import Backend, BackendKey, Endpoint, Locality
from xds_server.ir.gateway import Gateway, GatewayKey
from xds_server.ir.objects import ObjectKey


def backends_of(
    engine: Engine,
    gateways: Collection[GatewayKey, Gateway],
    services: Collection[ObjectKey, KnownService],
    slices: Collection[ObjectKey, Slice],
    by_service: Collection[ObjectKey, tuple[ObjectKey, ...]],
) -> Collection[BackendKey, Backend]:
    """The backends that gateways lead to, as long as the Service has that port."""

    def make(read: Read, key: BackendKey, _: tuple[GatewayKey, ...]) -> Backend | None:
        named = service_key(key.namespace, key.service)
        service = read(services, named)
        port = None if service is None else service.ports.find(key.port)
        if service is None or port is None:
            return None
        members = read(by_service, named) or ()
        found = [value for member in members if (value := read(slices, member)) is not None]
        origins = (service.origin, *(each.origin for each in found))
        return Backend(key, localities(service.families, port, found), origins, http2=port.http2)

    wanted = engine.index("backends by need", gateways, lambda _, gateway: _named(gateway))
    return engine.each("backends", wanted, make)


def localities(families: Iterable[str], port: ServedPort, slices: Iterable[Slice]) -> tuple[Locality, ...]:
    """The usable endpoints behind a port by zone: of the first family that has ready ones, else leaving ones."""
    ready: dict[str, dict[Endpoint, str]] = {}
    leaving: dict[str, dict[Endpoint, str]] = {}
    for each in slices:
        for number in (number for name, number in each.ports if name == port.name):
            _join(ready.setdefault(each.family, {}), each.ready, number)
            _join(leaving.setdefault(each.family, {}), each.leaving, number)
    order = tuple(families)
    usable = (state[family] for state in (ready, leaving) for family in order if state.get(family))
    return _by_zone(next(usable, {}))


def _join(union: dict[Endpoint, str], spots: Iterable[Spot], port: int) -> None:
    """Add endpoints with their zones. One that two slices have in two zones has the first by name, and rather any."""
    for zone, address in spots:
        endpoint = Endpoint(address, port)
        before = union.get(endpoint, "")
        union[endpoint] = min(zone, before) if zone and before else zone or before


def _by_zone(union: dict[Endpoint, str]) -> tuple[Locality, ...]:
    zones: dict[str, list[Endpoint]] = {}
    for endpoint, zone in union.items():
        zones.setdefault(zone, []).append(endpoint)
    return tuple(Locality(zone, tuple(sorted(zones[zone]))) for zone in sorted(zones))


def _named(gateway: Gateway) -> Iterator[BackendKey]:
    for route in gateway.routes:
        yield from (each for each in (route.primary, route.degrade) if each is not None)

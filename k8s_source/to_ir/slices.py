"""EndpointSlices: each is looked through once, so that a change of one costs that one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from k8s_source.kinds.addresses import canonical
from k8s_source.kinds.discovery import SERVICE_LABEL, AddressType, EndpointConditions, EndpointSlice, SliceEndpoint
from k8s_source.to_ir.services import service_key
from xds_server.derive.collection import Read
from xds_server.ir.objects import ObjectKey, Standing
from xds_server.ir.origin import Origin

_UNKNOWN = EndpointConditions()


class Spot(NamedTuple):
    """An address in a zone ("" where none is told)."""

    zone: str
    address: str


@dataclass(frozen=True, slots=True)
class Slice:
    """What of a slice matters here.

    `ports` are (name, number), `ready` the addresses that are ready, `leaving` those that terminate and still serve.
    """

    service: ObjectKey
    family: str
    ports: tuple[tuple[str, int], ...]
    ready: tuple[Spot, ...]
    leaving: tuple[Spot, ...]
    origin: Origin

    @property
    def is_of_names(self) -> bool:
        """Whether it holds domain names: Envoy takes none of them over EDS."""
        return self.family == AddressType.FQDN


def make_slice(_: Read, __: ObjectKey, standing: Standing) -> Slice | None:
    """A slice; None for other kinds, and for slices that belong to no Service."""
    declared = standing.object
    if declared is None or not isinstance(declared.value, EndpointSlice):
        return None
    value = declared.value
    name = (value.metadata.labels or {}).get(SERVICE_LABEL)
    if not name:
        return None
    family = value.address_type.value
    endpoints = () if family == AddressType.FQDN else value.endpoints or ()
    return Slice(
        service_key(value.metadata.namespace, name),
        family,
        tuple(_ports(value)),
        tuple(spot for each in endpoints if _is_ready(each) for spot in _spots(each, family)),
        tuple(spot for each in endpoints if _is_leaving(each) for spot in _spots(each, family)),
        declared.origin,
    )


def _ports(value: EndpointSlice) -> Iterator[tuple[str, int]]:
    """The ports that have a number: where none is told, all are meant, and none can be chosen."""
    for each in value.ports or ():
        if each.port and each.protocol == "TCP":
            yield each.name or "", each.port


def _is_ready(endpoint: SliceEndpoint) -> bool:
    return (endpoint.conditions or _UNKNOWN).ready is not False


def _is_leaving(endpoint: SliceEndpoint) -> bool:
    conditions = endpoint.conditions or _UNKNOWN
    return conditions.ready is False and bool(conditions.serving) and bool(conditions.terminating)


def _spots(endpoint: SliceEndpoint, family: str) -> Iterator[Spot]:
    hinted = (endpoint.hints.for_zones or ()) if endpoint.hints else ()
    zone = hinted[0].name if len(hinted) == 1 else endpoint.zone or ""
    for address in endpoint.addresses:
        yield Spot(zone, canonical(address, family) or address)

"""Kinds of the API group `discovery.k8s.io/v1`: EndpointSlice, as far as Tidegate uses it; further fields are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from socket import inet_pton
from typing import Annotated

from msgspec import Meta, Struct

from k8s_source.kinds.addresses import FAMILIES, canonical
from k8s_source.kinds.fault import Fault, refuse
from k8s_source.kinds.fields import EXPECTED
from k8s_source.kinds.meta import Manifest
from k8s_source.kinds.words import found

SERVICE_LABEL = "kubernetes.io/service-name"
"""The label of a slice that names its Service."""


class AddressType(StrEnum):
    """What the addresses of a slice are."""

    IPV4 = "IPv4"
    IPV6 = "IPv6"
    FQDN = "FQDN"


class EndpointPort(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A port of all endpoints of a slice; `name` is that of the Service's port."""

    name: str | None = None
    port: Annotated[int, Meta(ge=0, le=65535, extra={EXPECTED: "a port from 1 to 65535"})] | None = None
    protocol: str = "TCP"


class EndpointConditions(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """How an endpoint fares; null is unknown, which counts as ready, and as serving where it is ready."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ForZone(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A zone that should use an endpoint."""

    name: str


class EndpointHints(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Who should use an endpoint."""

    for_zones: tuple[ForZone, ...] | None = None


class SliceEndpoint(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """One endpoint, under one or more addresses."""

    addresses: tuple[str, ...]
    conditions: EndpointConditions | None = None
    zone: str | None = None
    hints: EndpointHints | None = None


class EndpointSlice(Manifest, frozen=True, kw_only=True, rename="camel"):
    """Some of the endpoints of a Service."""

    address_type: AddressType
    endpoints: tuple[SliceEndpoint, ...] | None = None
    ports: tuple[EndpointPort, ...] | None = None

    def __post_init__(self) -> None:
        """Judge the addresses.

        Raises:
            FaultsError: One is not of the slice's type: Envoy would refuse all endpoints of the Service for it.
        """
        if self.address_type is not AddressType.FQDN and not _fit(self):
            refuse(_address_faults(self))


def _fit(given: EndpointSlice) -> bool:
    """Whether all addresses are of the slice's type: one look at each, since there are very many."""
    family = FAMILIES[given.address_type]
    try:
        for endpoint in given.endpoints or ():
            for address in endpoint.addresses:
                inet_pton(family, address)
    except (OSError, ValueError):
        return False
    return True


def _address_faults(given: EndpointSlice) -> Iterator[Fault]:
    for index, endpoint in enumerate(given.endpoints or ()):
        for place, address in enumerate(endpoint.addresses):
            if canonical(address, given.address_type) is None:
                path = f"endpoints[{index}].addresses[{place}]"
                message = f"expected an {given.address_type} address, found {found(address, secret=False)}"
                yield Fault(path, "InvalidValue", message)

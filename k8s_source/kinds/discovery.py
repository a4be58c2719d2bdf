"""Kinds of the API group `discovery.k8s.io/v1`: EndpointSlice, as far as Tidegate uses it; further fields are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from k8s_source.kinds.addresses import canonical
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


class EndpointPort(Struct, frozen=True, kw_only=True, rename="camel"):
    """A port of all endpoints of a slice; `name` is that of the Service's port."""

    name: str | None = None
    port: Annotated[int, Meta(ge=0, le=65535, extra={EXPECTED: "a port from 1 to 65535"})] | None = None
    protocol: str = "TCP"


class EndpointConditions(Struct, frozen=True, kw_only=True, rename="camel"):
    """How an endpoint fares; null is unknown, which counts as ready, and as serving where it is ready."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ForZone(Struct, frozen=True, kw_only=True, rename="camel"):
    """A zone that should use an endpoint."""

    name: str


class EndpointHints(Struct, frozen=True, kw_only=True, rename="camel"):
    """Who should use an endpoint."""

    for_zones: tuple[ForZone, ...] | None = None


class SliceEndpoint(Struct, frozen=True, kw_only=True, rename="camel"):
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
        if self.address_type is not AddressType.FQDN:
            refuse(_address_faults(self))


def _address_faults(given: EndpointSlice) -> Iterator[Fault]:
    for index, endpoint in enumerate(given.endpoints or ()):
        for place, address in enumerate(endpoint.addresses):
            if canonical(address, given.address_type) is None:
                path = f"endpoints[{index}].addresses[{place}]"
                message = f"expected an {given.address_type} address, found {found(address, secret=False)}"
                yield Fault(path, "InvalidValue", message)

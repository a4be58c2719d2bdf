"""Backends: a port of a service, and the endpoints that are behind it now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from xds_server.ir.origin import Origin


class BackendKey(NamedTuple):
    """A port of a service, by the service's own number of it; the identity of a cluster."""

    namespace: str
    service: str
    port: int

    def __str__(self) -> str:
        """As people write it: namespace, service, port."""
        return f"{self.namespace}/{self.service}:{self.port}"


class Endpoint(NamedTuple):
    """An address that takes traffic: an IP address and a port."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Locality:
    """The endpoints of one zone ("" where none is told), in their order by address."""

    zone: str
    endpoints: tuple[Endpoint, ...]


@dataclass(frozen=True, slots=True)
class Backend:
    """A backend: its usable endpoints by zone, in the order of zones; none at all where `localities` is empty.

    `objects` are the service and the slices that made it. `http2` says that it speaks HTTP/2 without TLS (`kubernetes.io/h2c`,
    gRPC).
    """

    key: BackendKey
    localities: tuple[Locality, ...] = ()
    objects: tuple[Origin, ...] = ()
    http2: bool = False

    @property
    def is_healthy(self) -> bool:
        """Whether any endpoint can take traffic."""
        return bool(self.localities)

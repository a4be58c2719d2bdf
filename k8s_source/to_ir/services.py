"""Services: their ports, and which of them a route means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from k8s_source.kinds.addresses import FAMILIES
from k8s_source.kinds.core import Service
from xds_server.derive.collection import Read
from xds_server.ir.objects import ObjectKey, Standing
from xds_server.ir.origin import Origin

_EXTERNAL = "ExternalName"
_HTTP2 = frozenset({"kubernetes.io/h2c", "h2c", "http2", "grpc"})
"""Values of `appProtocol` that mean HTTP/2 without TLS (KEP-3726, and the words used before it)."""


class ServedPort(NamedTuple):
    """A port of TCP; `name` is "" where it has none."""

    number: int
    name: str
    http2: bool


class Ports(NamedTuple):
    """The ports of a Service, as far as traffic can be led to them."""

    served: tuple[ServedPort, ...]
    is_external: bool

    def find(self, wanted: int | str) -> ServedPort | None:
        """The port of that number or name."""
        return next((each for each in self.served if wanted in {each.number, each.name}), None)

    @property
    def only(self) -> ServedPort | None:
        """The one port there is; None where there are several, or none."""
        return self.served[0] if len(self.served) == 1 else None

    def __str__(self) -> str:
        """As people list them: `80 (http), 9090`."""
        listed = (f"{each.number} ({each.name})" if each.name else str(each.number) for each in self.served)
        return ", ".join(listed) or "none of TCP"


@dataclass(frozen=True, slots=True)
class KnownService:
    """What of a Service matters here; `families` in the order in which they are tried."""

    ports: Ports
    families: tuple[str, ...]
    origin: Origin


def service_key(namespace: str, name: str) -> ObjectKey:
    """The identity of a Service."""
    return ObjectKey("", "Service", namespace, name)


def make_service(_: Read, __: ObjectKey, standing: Standing) -> KnownService | None:
    """A Service; None for other kinds."""
    declared = standing.object
    if declared is None or not isinstance(declared.value, Service):
        return None
    spec = declared.value.spec
    served = tuple(
        ServedPort(each.port, each.name or "", each.app_protocol in _HTTP2)
        for each in spec.ports or ()
        if each.protocol == "TCP"
    )
    return KnownService(Ports(served, spec.type == _EXTERNAL), spec.ip_families or tuple(FAMILIES), declared.origin)


def make_ports(_: Read, __: ObjectKey, service: KnownService) -> Ports:
    """The ports alone: all that routes ask of a Service, so that its other fields touch no gateway."""
    return service.ports

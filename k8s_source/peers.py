"""Where the other replicas are: the pods behind a Service of their own, by its EndpointSlices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from ipaddress import ip_address
from typing import NamedTuple

import msgspec

from k8s_source.client.resource import ENDPOINT_SLICES
from k8s_source.informer.condition import Phase
from k8s_source.informer.shared import Informers
from k8s_source.kinds.discovery import SERVICE_LABEL

PORT = "admin"
"""The name of the Service's port at which replicas are asked; a Service with one port may call it otherwise."""


class _Target(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""


class _Conditions(msgspec.Struct, frozen=True):
    ready: bool | None = None
    serving: bool | None = None


class _Endpoint(msgspec.Struct, frozen=True, rename="camel"):
    addresses: tuple[str, ...] = ()
    target_ref: _Target | None = None
    conditions: _Conditions | None = None

    @property
    def is_ready(self) -> bool:
        """Not by `ready` where it can be helped: that is always true with `publishNotReadyAddresses`."""
        conditions = self.conditions or _Conditions()
        return (conditions.ready if conditions.serving is None else conditions.serving) is not False


class Place(NamedTuple):
    """Where a pod is, and whether it is ready."""

    address: str
    port: int
    is_ready: bool


class _Port(msgspec.Struct, frozen=True):
    name: str | None = None
    port: int | None = None


class Slice(msgspec.Struct, frozen=True):
    """An EndpointSlice, as far as it tells where pods are. All endpoints count, ready or not: they may have Envoys."""

    endpoints: tuple[_Endpoint, ...] | None = ()
    ports: tuple[_Port, ...] | None = ()

    @property
    def port(self) -> int | None:
        """The port of the admin API, None where there is none."""
        ports = [each for each in self.ports or () if each.port]
        named = [each.port for each in ports if each.name == PORT]
        return named[0] if named else ports[0].port if len(ports) == 1 else None


def parse(body: bytes) -> Slice | None:
    """An object as it came; None for one that is no EndpointSlice as far as is needed here."""
    try:
        return msgspec.json.decode(body, type=Slice)
    except msgspec.DecodeError:
        return None


def pods(slices: Iterable[Slice | None]) -> dict[str, Place]:
    """Where each pod is, by its name; one that has several addresses is asked at the first, IPv4 before IPv6."""
    found: dict[str, list[tuple[int, Place]]] = {}
    for each in slices:
        port = each.port if each is not None else None
        if each is None or port is None:
            continue
        for endpoint in each.endpoints or ():
            target = endpoint.target_ref
            for address in endpoint.addresses[:1]:
                name = target.name if target is not None and target.kind == "Pod" else address
                found.setdefault(name, []).append((_version(address), Place(address, port, endpoint.is_ready)))
    return {name: min(places)[1] for name, places in found.items()}


def _version(address: str) -> int:
    try:
        return ip_address(address).version
    except ValueError:
        return 0


class PeerAddresses:
    """Tells the URLs of the other pods of a Service, with their names, and what is wrong where they can't be told."""

    def __init__(
        self,
        informers: Informers,
        service: str,
        namespace: str,
        ourselves: str,
        *,
        scheme: str,
        expect: Callable[[Mapping[str, str], Collection[str]], None],
        unlisted: Callable[[str], None],
    ) -> None:
        """Tell `expect` the URLs, and which of them are not ready; `unlisted` why it is not known who there is, "" when it is. `ourselves` is our pod's name."""
        self._ourselves = ourselves
        self._service = f"{namespace}/{service}"
        self._scheme = scheme
        self._expect = expect
        self._unlisted = unlisted
        label = f"{SERVICE_LABEL}={service}"
        self._informer = informers.informer(ENDPOINT_SLICES, parse, labels=label, namespaces=(namespace,))
        unlisted(f"the endpoints of Service {self._service} have not been read yet")
        self._informer.follow(lambda _changes: self._look(), self._look)

    def _look(self) -> None:
        condition = self._informer.condition
        if condition.phase is Phase.FORBIDDEN:
            self._unlisted(f"the endpoints of Service {self._service} can't be read: {condition.error}")
            return
        if not self._informer.synced.is_set():
            return
        found = pods(item.body for item in self._informer.store.items())
        is_listed = found.pop(self._ourselves, None) is not None
        urls = {name: _url(self._scheme, place) for name, place in found.items()}
        starting = {urls[name] for name, place in found.items() if not place.is_ready}
        self._expect({url: name for name, url in urls.items()}, starting)
        # With another Service, or under another name, we would take ourselves for the only one.
        self._unlisted("" if is_listed else f"{self._ourselves} is no pod behind Service {self._service}")


def _url(scheme: str, place: Place) -> str:
    address, port, _ = place
    return f"{scheme}://[{address}]:{port}" if ":" in address else f"{scheme}://{address}:{port}"

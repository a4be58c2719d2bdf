"""Who keeps what gateways of a group claim: sockets by protocol, and hosts on a socket; of two the senior one.

A loser keeps all else: `Stand.lost_to` and `HostOwner` tell reports what to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from xds_server.derive.collection import Collection, Read
from xds_server.derive.engine import Engine
from xds_server.ir.gateway import Gateway, GatewayKey, Listener, Protocol
from xds_server.ir.origin import Origin
from xds_server.translate.gateway.names import Socket, socket_of

Seniority = tuple[str, str, int]


class Place(NamedTuple):
    """A listener of a gateway, by the socket that it is on."""

    socket: Socket
    gateway: GatewayKey
    listener: str


class Attachment(NamedTuple):
    """What a gateway wants of a socket."""

    listener: Listener
    seniority: Seniority
    origin: Origin


class Stand(NamedTuple):
    """What became of an attachment: kept, or lost to a listener (of the gateway at `lost_to`)."""

    attachment: Attachment
    lost_to: Origin | None = None


@dataclass(frozen=True, slots=True)
class SocketUse:
    """A socket in use: what is spoken there, and each kept attachment, the senior first."""

    protocol: Protocol
    address: str
    port: int
    stands: tuple[tuple[Place, Stand], ...]

    @property
    def kept(self) -> tuple[tuple[Place, Attachment], ...]:
        """The attachments that are served."""
        return tuple((place, stand.attachment) for place, stand in self.stands if stand.lost_to is None)


class HostKey(NamedTuple):
    """A host on a socket: the identity of a virtual host."""

    socket: Socket
    host: str


class HostClaim(NamedTuple):
    """A gateway's claim of a host on a socket."""

    place: HostKey
    gateway: GatewayKey


class HostOwner(NamedTuple):
    """Whose a host on a socket is."""

    seniority: Seniority
    gateway: GatewayKey
    origin: Origin


@dataclass(frozen=True, slots=True)
class Claims:
    """The collections of who keeps what."""

    sockets: Collection[Socket, SocketUse]
    stands: Collection[Place, Stand]
    hosts: Collection[HostKey, HostOwner]


def claims_of(engine: Engine, gateways: Collection[GatewayKey, Gateway]) -> Claims:
    """Derive who keeps what from gateways."""
    attachments = engine.many("attachments", gateways, _attachments)
    by_socket = engine.index("attachments by socket", attachments, lambda place, _: (place.socket,))

    def use(read: Read, _: Socket, places: tuple[Place, ...]) -> SocketUse:
        found = [(place, attached) for place in places if (attached := read(attachments, place)) is not None]
        return _use(found)

    sockets = engine.each("sockets", by_socket, use)
    stands = engine.many("stands", sockets, lambda _read, _socket, made: dict(made.stands))

    def claim(read: Read, key: GatewayKey, gateway: Gateway) -> Mapping[HostClaim, HostOwner]:
        owner = HostOwner(gateway.seniority, key, gateway.origin)
        hosts = dict.fromkeys(host for route in gateway.routes for host in route.hosts)
        kept = [place for place in places_of(gateway) if is_kept(read(stands, place))]
        return {HostClaim(HostKey(place.socket, host), key): owner for place in kept for host in hosts}

    claims = engine.many("host claims", gateways, claim)
    by_host = engine.index("claims by host", claims, lambda claimed, _: (claimed.place,))

    def own(read: Read, _: HostKey, claimed: tuple[HostClaim, ...]) -> HostOwner:
        return min(owner for each in claimed if (owner := read(claims, each)) is not None)

    return Claims(sockets, stands, engine.each("hosts", by_host, own))


def places_of(gateway: Gateway) -> list[Place]:
    """The places of a gateway's listeners, in their order."""
    return [
        Place(socket_of(gateway.group, gateway.key, listener), gateway.key, listener.name)
        for listener in gateway.listeners
    ]


def is_kept(stand: Stand | None) -> bool:
    """Whether an attachment is there and served."""
    return stand is not None and stand.lost_to is None


def _attachments(_: Read, __: GatewayKey, gateway: Gateway) -> dict[Place, Attachment]:
    pairs = zip(places_of(gateway), gateway.listeners, strict=True)
    return {place: Attachment(listener, gateway.seniority, gateway.origin) for place, listener in pairs}


def _use(found: list[tuple[Place, Attachment]]) -> SocketUse:
    """The senior one says what is spoken, and keeps out who speaks otherwise."""
    found.sort(key=lambda each: (each[1].seniority, each[0]))
    senior = found[0][1]
    stands = tuple(
        (place, Stand(attached, None if attached.listener.protocol is senior.listener.protocol else senior.origin))
        for place, attached in found
    )
    first = senior.listener
    return SocketUse(first.protocol, first.address, first.port, stands)

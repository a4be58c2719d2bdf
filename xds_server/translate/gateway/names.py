"""From identity to the names of resources: never from a position, so that moving a thing renames nothing."""

from __future__ import annotations

from typing import NamedTuple

from xds_server.ir.backend import BackendKey
from xds_server.ir.gateway import GatewayKey, Listener, Protocol, SecretKey

METADATA = "tidegate.dev"
"""Whose metadata of ours is, in routes and route configurations."""

REASON_HEADER = "x-tidegate-reason"
"""Tells a client, and an access log, why a request was not sent on."""

ANY_ADDRESS = "0.0.0.0"
"""The address of a listener that names none; it is not in names."""


class Socket(NamedTuple):
    """What listeners of a group share: an address and a port, by the part of names that tells them."""

    group: str
    place: str


def socket_of(group: str, gateway: GatewayKey, listener: Listener) -> Socket:
    """Where a listener takes requests. On port 0 each Envoy takes a free one, so nobody can share it."""
    if listener.port == 0:
        return Socket(group, f"{gateway.namespace}-{gateway.name}-{listener.name}")
    address = "" if listener.address == ANY_ADDRESS else f"{listener.address}-"
    return Socket(group, f"{address}{listener.port}")


def listener_name(protocol: Protocol, socket: Socket) -> str:
    """The name of a listener, and of its route configuration."""
    return f"{protocol.value.lower()}-{socket.place}"


def cluster_name(backend: BackendKey) -> str:
    """The name of a cluster and of its load assignment: all routes that lead there share them."""
    return f"{backend.namespace}/{backend.service}/{backend.port}"


def backend_of(cluster: str) -> BackendKey | None:
    """The backend of a cluster of that name, None where it is no such name."""
    namespace, _, rest = cluster.partition("/")
    service, _, port = rest.partition("/")
    return BackendKey(namespace, service, int(port)) if port.isascii() and port.isdecimal() else None


def secret_name(secret: SecretKey) -> str:
    """The name of a secret."""
    return f"{secret.namespace}/{secret.name}"

"""Discovery responses: ready resource fields joined into one message that every stream in need of it shares.

A nonce has only to be unique on its stream (xDS spec, "ACK/NACK and resource type instance version"), so it
comes from one process-wide counter when a response is built, and the whole message is the same bytes for all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from xds_server.wire.encode import field, text
from xds_server.wire.resource import Resource

_serial = itertools.count(1)


class Response:
    """One built response. `changes` tells what is new in it for who gets it: name → version, None if removed."""

    __slots__ = ("body", "changes", "message", "nonce", "serial", "type_url", "version")

    def __init__(self, type_url: str, version: str, body: bytes, changes: Mapping[str, str | None]) -> None:
        self.type_url = type_url
        self.version = version
        self.body = body
        self.changes = changes
        self.serial = next(_serial)
        self.nonce = f"{self.serial:x}"
        self.message = body + text(5, self.nonce)

    def again(self) -> Response:
        """The same content with a nonce of its own, for a stream that has had this response before."""
        return Response(self.type_url, self.version, self.body, self.changes)


def sotw(type_url: str, version: str, sent: Iterable[Resource], changes: Mapping[str, str | None]) -> Response:
    """Build a DiscoveryResponse: version_info (1), resources (2), type_url (4), nonce (5)."""
    parts = [text(1, version), *(resource.sotw_field for resource in sent), text(4, type_url)]
    return Response(type_url, version, b"".join(parts), changes)


def delta(
    type_url: str,
    version: str,
    sent: Iterable[Resource],
    removed: Iterable[str],
    changes: Mapping[str, str | None],
) -> Response:
    """Build a DeltaDiscoveryResponse: system_version_info (1), resources (2), type_url (4), nonce (5), removed (6)."""
    parts = [text(1, version), *(resource.delta_field for resource in sent), text(4, type_url)]
    parts.extend(field(6, name.encode()) for name in removed if name)
    return Response(type_url, version, b"".join(parts), changes)

"""A resource: name, type, content version, and its bytes as the ready fields that responses are joined from."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from xds_server.ir.origin import Origin
from xds_server.ir.refs import ANYTHING, NO_REFS, Refs
from xds_server.wire.encode import field, text


class Resource:
    """One immutable xDS resource.

    `body` is the deterministic serialization of the message, `version` a hash of it (32 hex digits), so equal
    content has an equal version whenever and wherever it was made. `sotw_field` and `delta_field` are the
    bytes of one `resources` entry of a DiscoveryResponse and a DeltaDiscoveryResponse; they are made once, at
    first use, and shared by all responses. `origins` tell where the content is declared now: no part of it, and the one
    thing that changes (`Typeset.evolve`).
    """

    is_known = True
    """Whether it is known for sure what the content is."""

    __slots__ = ("_delta_field", "_sotw_field", "body", "digest", "name", "origins", "refs", "type_url", "version")

    def __init__(
        self,
        name: str,
        type_url: str,
        body: bytes,
        refs: Refs = NO_REFS,
        origins: tuple[Origin, ...] = (),
        *,
        version: str = "",
    ) -> None:
        """Make a resource; `version` is that of the content that `body` is a redacted form of."""
        self.name = name
        self.type_url = type_url
        self.body = body
        self.refs = refs
        self.origins = origins
        self.version = version or blake2b(body, digest_size=16).hexdigest()
        self.digest = identity_digest(name, self.version)
        self._sotw_field: bytes | None = None
        self._delta_field: bytes | None = None

    @property
    def sotw_field(self) -> bytes:
        """`resources` (2) of DiscoveryResponse: an Any."""
        ready = self._sotw_field
        if ready is None:
            ready = self._sotw_field = field(2, self._any())
        return ready

    @property
    def delta_field(self) -> bytes:
        """`resources` (2) of DeltaDiscoveryResponse: a Resource of version (1), resource (2) and name (3)."""
        ready = self._delta_field
        if ready is None:
            inner = text(1, self.version) + field(2, self._any()) + text(3, self.name)
            ready = self._delta_field = field(2, inner)
        return ready

    def make_ready_like(self, predecessor: Resource) -> None:
        """Make the fields that its predecessor was sent with; whoever derives has time for it, streams have not."""
        if predecessor._sotw_field is not None:
            _ = self.sotw_field
        if predecessor._delta_field is not None:
            _ = self.delta_field

    def _any(self) -> bytes:
        return _type_url_field(self.type_url) + field(2, self.body)

    def __repr__(self) -> str:
        """Name and version; never the content, which may hold keys."""
        return f"Resource({self.name!r}, {self.version[:8]})"


class Held(Resource):
    """What clients hold and this process does not: a name and a version without content.

    A client has told of it, or it was served before a restart and not stored since it holds a secret. Where nothing
    else is known of it, it may refer to anything.
    """

    is_known = False

    __slots__ = ()

    def __init__(
        self, name: str, type_url: str, version: str, refs: Refs = ANYTHING, origins: tuple[Origin, ...] = ()
    ) -> None:
        super().__init__(name, type_url, b"", refs, origins)
        self.version = version
        self.digest = identity_digest(name, version)


@lru_cache(maxsize=64)
def _type_url_field(type_url: str) -> bytes:
    """`type_url` (1) of an Any."""
    return text(1, type_url)


def identity_digest(name: str, version: str) -> int:
    """A 256-bit number for (name, version); a set's version is made of the sum of its members' numbers."""
    return int.from_bytes(blake2b(f"{name}\0{version}".encode(), digest_size=32).digest(), "big")

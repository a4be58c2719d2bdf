"""Streams without a network: the server's own connections; what they write is accepted a little later."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

from tests.conformance.wire import KEYS, Variant, delta_request, node_of, sotw_request
from tests.feature.inprocess import Inside
from xds_server.stream import session
from xds_server.stream.auth import Identity
from xds_server.stream.connection import Connection

TYPES = ("cds", "eds")

SPREAD = 0.5
"""Seconds within which the ACKs of a fleet arrive: each by itself, as from a network."""


class Joined:
    """One stream that wants all clusters, and assignments by name. It costs next to nothing on the client's side."""

    def __init__(self, server: Inside, variant: Variant, number: int, names: Iterable[str]) -> None:
        self.bytes = 0
        self.failure: Exception | None = None
        self._variant = variant
        self._names: dict[str, Iterable[str]] = {"cds": (), "eds": names}
        self._random = random.Random(number)
        shared = server.server._services._shared
        made = session.Variant(variant.value)
        self._connection = Connection(
            shared, made, self._write, self._fail, peer="test:1", only_type=None, caller=Identity("")
        )
        make = sotw_request if variant is Variant.SOTW else delta_request
        for key in TYPES:
            self._connection.receive(make(key, self._names[key], node=node_of(f"n-{number}")).SerializeToString())

    def close(self) -> None:
        """End the stream."""
        self._connection.close()

    async def _write(self, raw: bytes) -> None:
        self.bytes += len(raw)
        asyncio.get_running_loop().call_later(self._random.random() * SPREAD, self._accept)

    def _accept(self) -> None:
        """Accept all that is not answered. The nonces are the server's own: no need to take 10 MB apart."""
        found = self._connection._session
        for url, state in list(found.states.items()) if found else ():
            key = KEYS[url]
            if state.pending:
                nonce = state.pending[-1].response.nonce
                names = self._names[key] if self._variant is Variant.SOTW else ()
                make = sotw_request if self._variant is Variant.SOTW else delta_request
                self._connection.receive(make(key, names, nonce=nonce).SerializeToString())

    def _fail(self, error: Exception) -> None:
        self.failure = error

"""The Lease on the API server: read it, make it, replace exactly the one that was read."""

from __future__ import annotations

from typing import Protocol

import msgspec

from k8s_source.client.api import Api
from k8s_source.client.errors import ApiError
from k8s_source.client.resource import LEASES
from k8s_source.lease.record import Record, Seen, decode, encode


class Lock(Protocol):
    """What replicas compete for. All methods raise ApiError; a conflict says that somebody else was first."""

    async def get(self) -> Seen | None:
        """What is there; None when nobody has made it yet."""

    async def create(self, record: Record) -> Seen:
        """Make it; a conflict when it is there."""

    async def update(self, seen: Seen, record: Record) -> Seen:
        """Replace what was seen; a conflict when it is not that any more."""


class LeaseLock:
    """A lock that is a Lease. A conflict is found by its resourceVersion, so of two that race one wins."""

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name

    async def get(self) -> Seen | None:
        """See `Lock`."""
        try:
            body = await self._api.get(LEASES, self._namespace, self._name)
        except ApiError as error:
            if error.is_not_found:
                return None
            raise
        return _decoded(body)

    async def create(self, record: Record) -> Seen:
        """See `Lock`."""
        metadata = msgspec.json.encode({"name": self._name, "namespace": self._namespace})
        return _decoded(await self._api.create(LEASES, self._namespace, encode(record, metadata)))

    async def update(self, seen: Seen, record: Record) -> Seen:
        """See `Lock`."""
        body = encode(record, seen.metadata)
        return _decoded(await self._api.update(LEASES, self._namespace, self._name, body))


def _decoded(body: bytes) -> Seen:
    try:
        return decode(body)
    except msgspec.DecodeError as error:
        raise ApiError(0, "Decode", f"the API server answered with something that is no Lease: {error}") from error

"""Keeps the webhook's certificates in a Secret that all replicas share: whoever writes first decides, the others read."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from k8s_source.client.api import Api
from k8s_source.client.errors import ApiError
from k8s_source.client.resource import SECRETS
from k8s_source.webhooks.rotation import Kept, Terms, read, step

_ATTEMPTS = 5
_LABELS = {"app.kubernetes.io/name": "tidegate", "app.kubernetes.io/component": "webhook"}


def utc_now() -> datetime:
    """The time of day: certificates are dated."""
    return datetime.now(UTC)


class Keeper:
    """One Secret."""

    def __init__(
        self, api: Api, namespace: str, name: str, terms: Terms, now: Callable[[], datetime] = utc_now
    ) -> None:
        """Nothing is read before `look`."""
        self._api = api
        self._namespace = namespace
        self._name = name
        self._terms = terms
        self._now = now

    async def look(self) -> Kept:
        """What is kept by now, after the step that was due.

        Raises:
            ApiError: The Secret can't be read or written.
        """
        for attempt in range(_ATTEMPTS):
            found = await self._read()
            kept = _kept(found)
            after = step(kept, self._terms, self._now())
            if after == kept:
                return after
            try:
                await self._write(found, after)
            except ApiError as error:
                # Another replica was first: what it wrote counts.
                if not error.is_conflict or attempt == _ATTEMPTS - 1:
                    raise
            else:
                return after
        raise AssertionError("unreachable")

    async def _read(self) -> dict[str, Any] | None:
        try:
            body = await self._api.get(SECRETS, self._namespace, self._name)
        except ApiError as error:
            if error.is_not_found:
                return None
            raise
        found: dict[str, Any] = msgspec.json.decode(body)
        return found

    async def _write(self, found: dict[str, Any] | None, kept: Kept) -> None:
        data = {key: b64encode(each).decode() for key, each in kept.data().items()}
        if found is not None:
            # With its resourceVersion: what changed meanwhile is not written over.
            await self._api.update(SECRETS, self._namespace, self._name, msgspec.json.encode({**found, "data": data}))
            return
        metadata = {"name": self._name, "namespace": self._namespace, "labels": _LABELS}
        body = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "data": data}
        await self._api.create(SECRETS, self._namespace, msgspec.json.encode(body))


def _kept(secret: dict[str, Any] | None) -> Kept | None:
    try:
        data = {key: b64decode(each) for key, each in ((secret or {}).get("data") or {}).items()}
    except (Base64Error, TypeError, ValueError):
        return None
    return read(data)

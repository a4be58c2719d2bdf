"""The version under which an Event names its object: the one that clients ask for where nothing is said.

`kubectl events --for` looks for that one (kubectl, `pkg/cmd/events`), whichever version is read here.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from math import inf
from typing import Protocol

import msgspec

from k8s_source.client.errors import ApiError
from k8s_source.events.event import Reference

_FRESH = 60.0
"""Seconds for which an answer serves further Events; versions come and go with the CRD."""


class GroupApi(Protocol):
    """What is asked of the API server; `client.api.Api` has it."""

    async def request(self, method: str, path: str) -> bytes:
        """The body of the answer."""


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    group_version: str


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    """`metav1.APIGroup`, as far as it is read."""

    preferred_version: _Version


class Naming:
    """Knows the preferred version of each group that has been asked for, for a while."""

    def __init__(self, api: GroupApi) -> None:
        self._api = api
        self._known: dict[str, tuple[float, str]] = {}

    async def named(self, reference: Reference) -> Reference:
        """The same object in its preferred version; where that can't be found out, as it was known last, else in its own."""
        group, _, version = reference.api_version.partition("/")
        if not version:
            return reference
        now = asyncio.get_running_loop().time()
        asked, preferred = self._known.get(group, (-inf, reference.api_version))
        if now - asked >= _FRESH:
            with suppress(ApiError, msgspec.DecodeError):
                body = await self._api.request("GET", f"/apis/{group}")
                preferred = msgspec.json.decode(body, type=_Group).preferred_version.group_version
                self._known[group] = now, preferred
        return msgspec.structs.replace(reference, api_version=preferred)

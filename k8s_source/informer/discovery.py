"""Discovery: whether the API server has a kind at all. Asked once for all kinds of a group and version."""

from __future__ import annotations

import asyncio

import msgspec

from k8s_source.client.api import Api
from k8s_source.client.errors import ApiError
from k8s_source.client.resource import Resource
from k8s_source.informer.wire import BROKEN

_FRESH = 2.0
"""Seconds for which an answer serves further questions."""


class _Entry(msgspec.Struct, frozen=True):
    name: str


class _ResourceList(msgspec.Struct, frozen=True):
    resources: tuple[_Entry, ...] = ()


class Discovery:
    """Answers from the API server's resource lists.

    A server that has just started has not read its CustomResourceDefinitions yet. It says 503 then, never 404.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._answers: dict[str, tuple[float, frozenset[str]]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def has(self, resource: Resource) -> bool:
        """Whether the kind is served in this version. Raises ApiError when that can't be found out."""
        now = asyncio.get_running_loop().time
        async with self._locks.setdefault(resource.base, asyncio.Lock()):
            asked, names = self._answers.get(resource.base, (0.0, frozenset[str]()))
            if not asked or now() - asked >= _FRESH:
                names = await self._ask(resource.base)
                self._answers[resource.base] = now(), names
        return resource.plural in names

    async def _ask(self, base: str) -> frozenset[str]:
        try:
            body = await self._api.request("GET", base)
        except ApiError as error:
            if error.is_not_found:
                return frozenset()
            raise
        try:
            return frozenset(each.name for each in msgspec.json.decode(body, type=_ResourceList).resources)
        except msgspec.DecodeError as error:
            raise ApiError(0, BROKEN, f"{base} can't be decoded: {error}") from error

"""The only way in which DynamicGateways are written: by the leader, one by one, and each write is told."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from http import HTTPStatus
from typing import NamedTuple, TypeVar

import msgspec

from k8s_source.client.api import Api
from k8s_source.client.errors import ApiError
from k8s_source.client.resource import DYNAMIC_GATEWAYS
from k8s_source.informer.item import Item
from k8s_source.informer.wire import Page, object_of, page_of
from k8s_source.kinds.stated import Stated
from k8s_source.reconcile import finalizer
from k8s_source.reconcile.ports import Leadership, Notes
from k8s_source.reconcile.status import Written, read, summary
from k8s_source.workqueue.result import PermanentError, RetryableError
from xds_server.ir.writes import Write

T = TypeVar("T")

MANAGER = "tidegate"
"""The field manager of all that is applied; fields of other managers stay theirs."""

_INVALID = "Invalid"
"""What the API server answers to a JSON patch of which a test fails: the object has changed meanwhile."""


_RIGHTS = 30.0
"""Seconds until a right that is missing is asked for again."""


class NotLeaderError(Exception):
    """Another replica writes: nothing was sent."""


class GoneError(Exception):
    """The object is not there any more: there is nothing to write."""


class WrittenStatus(NamedTuple):
    """What the API server has after a write."""

    version: str
    status: Written


class Writer:
    """Writes, as long as this process is the leader.

    All methods raise NotLeaderError, GoneError, RetryableError and PermanentError.
    """

    def __init__(self, api: Api, leadership: Leadership, notes: Notes) -> None:
        self._api = api
        self._leadership = leadership
        self._notes = notes

    def check(self) -> None:
        """Raise NotLeaderError where this process may not write now."""
        if not self._leadership.is_leader():
            raise NotLeaderError

    async def status(self, item: Item[Stated], before: Written, after: Written) -> WrittenStatus:
        """Have an object's status as it should be; as the API server has it afterwards."""
        meta = {"namespace": item.key.namespace, "name": item.key.name}
        kind = {"apiVersion": DYNAMIC_GATEWAYS.api_version, "kind": DYNAMIC_GATEWAYS.kind}
        body = msgspec.json.encode({**kind, "metadata": meta, "status": after})
        answer = await self._send(
            self._api.apply(DYNAMIC_GATEWAYS, *item.key, body, manager=MANAGER, subresource="status")
        )
        self._note("status", item, "it differed", summary(before), summary(after))
        found = _decode(answer)
        return WrittenStatus(found.metadata.resource_version, read(bytes(found.status)))

    async def look(self, item: Item[Stated]) -> Item[Stated]:
        """An object that is not watched, as it is now. It is listed: to get single ones needs another right."""
        for raw in (await self._send(self._find(item))).items or ():
            found = object_of(raw, DYNAMIC_GATEWAYS)
            if found.meta.uid == item.meta.uid:
                return Item(item.key, found.meta, item.body)
        raise GoneError(str(item.key))

    async def add_finalizer(self, item: Item[Stated]) -> str:
        """Have our finalizer on an object; the resourceVersion that it has now."""
        answer = await self._patch(item, finalizer.added(item.meta))
        self._note("finalizer", item, "Envoys are to let go of it before it goes", None, finalizer.FINALIZER)
        return _decode(answer).metadata.resource_version

    async def remove_finalizer(self, item: Item[Stated], reason: str) -> None:
        """Let go of an object that is being deleted."""
        await self._patch(item, finalizer.removed(item.meta))
        self._note("finalizer", item, reason, finalizer.FINALIZER, None)

    async def _find(self, item: Item[Stated]) -> Page:
        query = (("fieldSelector", f"metadata.name={item.key.name}"),)
        return page_of(await self._api.request("GET", DYNAMIC_GATEWAYS.path(item.key.namespace), query=query))

    async def _patch(self, item: Item[Stated], body: bytes) -> bytes:
        try:
            return await self._send(self._api.patch(DYNAMIC_GATEWAYS, *item.key, body, kind="json"))
        except PermanentError as error:
            if error.reason == _INVALID:
                raise RetryableError(str(error)) from error
            raise

    async def _send(self, request: Coroutine[None, None, T]) -> T:
        """Send it if this process is the leader, and not beyond the time for which it is."""
        try:
            self.check()
            async with asyncio.timeout(self._leadership.remaining()):
                return await request
        except ApiError as error:
            raise _meant(error) from error
        except TimeoutError as error:
            raise RetryableError("no answer while this process was the leader") from error
        finally:
            request.close()

    def _note(self, what: str, item: Item[Stated], reason: str, before: object, after: object) -> None:
        self._notes.wrote(Write(what, str(item.key), self._leadership.identity, reason, before, after))


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Answer(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    status: msgspec.Raw = msgspec.Raw()


_decode = msgspec.json.Decoder(_Answer).decode


def _meant(error: ApiError) -> Exception:
    """What an answer means for the work on one object."""
    if error.is_not_found:
        return GoneError(str(error))
    if error.status == HTTPStatus.FORBIDDEN:
        return RetryableError(str(error), _RIGHTS)
    if error.is_retryable:
        return RetryableError(str(error), error.retry_after or 0.0)
    return PermanentError(error.reason, error.message)

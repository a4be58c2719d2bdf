"""What lists and watches send, decoded as far as informers read it. Pure; bodies stay bytes."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from k8s_source.client.answers import error_of_event
from k8s_source.client.errors import ApiError
from k8s_source.client.resource import Resource
from k8s_source.informer.item import ItemKey, ItemMeta

BROKEN = "Broken"
"""The reason of an answer that can't be decoded."""

_INITIAL_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark after which a streamed list is whole (KEP 3157)."""


class _Meta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None
    annotations: dict[str, str] | None = None


class _Head(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta
    kind: str = ""


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    onward: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, frozen=True):
    """A page of a list."""

    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event of a watch."""

    type: str
    object: msgspec.Raw


class Found(NamedTuple):
    """An object of the API server: who it is, and its whole JSON."""

    key: ItemKey
    meta: ItemMeta
    body: bytes


class Bookmark(NamedTuple):
    """A resourceVersion without an object; `ends_list` says that all that there was has been sent."""

    version: str
    ends_list: bool


_HEAD = msgspec.json.Decoder(_Head)
_PAGE = msgspec.json.Decoder(Page)
_EVENT = msgspec.json.Decoder(Event)
_MALFORMED = (msgspec.DecodeError, UnicodeDecodeError)


def page_of(body: bytes) -> Page:
    """A page. Raises ApiError when it is none."""
    try:
        return _PAGE.decode(body)
    except _MALFORMED as error:
        raise ApiError(0, BROKEN, f"the list can't be decoded: {error}") from error


def event_of(line: bytes) -> Event:
    """An event. Raises ApiError when it is none, half a line say, and for the error that an ERROR event carries."""
    try:
        event = _EVENT.decode(line)
        if event.type == "ERROR":
            raise error_of_event(bytes(event.object))
    except _MALFORMED as error:
        raise ApiError(0, BROKEN, f"an event of the watch can't be decoded: {error}") from error
    return event


def object_of(raw: msgspec.Raw, resource: Resource) -> Found:
    """An object of a list or an event, whole: lists of core kinds leave out what says the kind. Raises ApiError."""
    head = _head(raw)
    meta = head.metadata
    kept = ItemMeta(
        meta.uid,
        meta.resource_version,
        meta.generation,
        meta.creation_timestamp or "",
        meta.deletion_timestamp or "",
        meta.finalizers or (),
    )
    body = bytes(raw)
    if not head.kind:
        body = f'{{"apiVersion":"{resource.api_version}","kind":"{resource.kind}",'.encode() + body.lstrip()[1:]
    return Found(ItemKey(meta.namespace, meta.name), kept, body)


def bookmark_of(raw: msgspec.Raw) -> Bookmark:
    """What a bookmark says. Raises ApiError."""
    meta = _head(raw).metadata
    return Bookmark(meta.resource_version, (meta.annotations or {}).get(_INITIAL_END) == "true")


def _head(raw: msgspec.Raw) -> _Head:
    try:
        return _HEAD.decode(raw)
    except _MALFORMED as error:
        raise ApiError(0, BROKEN, f"an object can't be decoded: {error}") from error

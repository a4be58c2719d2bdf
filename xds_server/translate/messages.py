"""Between messages and resources: canonical bytes one way, parsing the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any as Anything

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

from xds_server.ir.origin import Origin
from xds_server.translate.protos import ANY, children, class_of, full_name
from xds_server.translate.reach import Reach
from xds_server.translate.references import refs_of
from xds_server.wire.resource import Resource
from xds_server.wire.types import PREFIX

Edit = Callable[[Message], None]

_NAME_FIELDS = {"envoy.config.endpoint.v3.ClusterLoadAssignment": "cluster_name"}


def name_field(descriptor: Descriptor) -> str | None:
    """The field that names a resource of this type; None for a type that has no name."""
    name = _NAME_FIELDS.get(descriptor.full_name, "name")
    field = descriptor.fields_by_name.get(name)
    return name if field is not None and field.type == field.TYPE_STRING and not field.is_repeated else None


def pack(message: Message, name: str, origins: tuple[Origin, ...], version: str = "") -> Resource:
    """Make the resource of a message, which is brought into its canonical form: equal content, equal bytes.

    `version` is that of the content before its secrets were redacted, if they were.
    """
    rewrite(message)
    body = message.SerializeToString(deterministic=True)
    return Resource(name, PREFIX + message.DESCRIPTOR.full_name, body, refs_of(message), origins, version=version)


def parse(type_url: str, body: bytes) -> Message | None:
    """The message of a type URL and bytes; None for a type that is not known or bytes that are not of it."""
    cls = class_of(full_name(type_url))
    if cls is None:
        return None
    try:
        return cls.FromString(body)
    except DecodeError:
        return None


def rewrite(message: Message, edit: Edit | None = None) -> None:
    """Apply `edit` to a message and all below it, inside Anys too, and serialize every Any anew.

    Without `edit` only that: what is inside an Any was serialized by whoever made it, its maps in any order.
    An Any whose type is not known stays as it is.
    """
    if edit is not None:
        edit(message)
    if message.DESCRIPTOR.full_name == ANY:
        _rewrite_any(message, edit)
        return
    wanted = anys().fields(message.DESCRIPTOR)
    for field, value in message.ListFields():
        if field.message_type is not None and (edit is not None or field.number in wanted):
            for each in children(field, value):
                rewrite(each, edit)


def _rewrite_any(message: Anything, edit: Edit | None) -> None:
    inner = parse(message.type_url, message.value)
    if inner is not None and (edit is not None or _order_matters().reaches(inner.DESCRIPTOR)):
        rewrite(inner, edit)
        message.value = inner.SerializeToString(deterministic=True)


@cache
def anys() -> Reach:
    """The fields of messages below which an Any can be."""
    return Reach(lambda each: each.full_name == ANY)


@cache
def _order_matters() -> Reach:
    """Only maps have no order of their own on the wire."""
    return Reach(lambda each: each.full_name == ANY or bool(each.GetOptions().map_entry))

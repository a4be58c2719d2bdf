"""Reads the bytes of a message as strictly as its JSON: types and fields that are not known are refused, at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any as Anything

from google.protobuf.message import DecodeError, Message

from xds_server.translate.fault import Fault, join, unknown_type
from xds_server.translate.messages import anys
from xds_server.translate.protos import ANY, class_of, full_name, is_map, type_of


def read_bytes(type_url: str, body: bytes) -> Message | Fault:
    """The message of that type with these bytes, or what is wrong with them."""
    found = _parse(type_url, body, "")
    if isinstance(found, Fault):
        return found
    return next(_inside(found, ""), found)


def _parse(type_url: str, body: bytes, path: str) -> Message | Fault:
    name = full_name(type_url)
    cls = class_of(name)
    if cls is None:
        return Fault(join(path, "@type"), "UnknownType", unknown_type(name))
    try:
        message = cls.FromString(body)
    except DecodeError:
        return Fault(path, "InvalidValue", f"the bytes are no valid {name}")
    known = cls()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    if known.ByteSize() != message.ByteSize():
        return Fault(path, "UnknownField", f"there are fields in the bytes that {name} does not have, at some depth")
    return message


def _inside(message: Message, path: str) -> Iterator[Fault]:
    """The faults of all Anys below a message."""
    if message.DESCRIPTOR.full_name == ANY:
        packed: Anything = message
        if packed.type_url:
            found = _parse(packed.type_url, packed.value, path)
            if isinstance(found, Fault):
                yield found
            else:
                yield from _inside(found, path)
        return
    wanted = anys().fields(type_of(message))
    for field, value in message.ListFields():
        if field.number in wanted:
            for below, each in _children(field, value, join(path, field.name)):
                yield from _inside(each, below)


def _children(field: Anything, value: Anything, path: str) -> Iterator[tuple[str, Message]]:
    if not field.is_repeated:
        yield path, value
    elif is_map(field):
        yield from ((join(path, str(key)), value[key]) for key in value)
    else:
        yield from ((f"{path}[{index}]", each) for index, each in enumerate(value))

"""Envoy's message types by name: loaded once, at first use, and asked through protobuf's reflection.

Only `gateway`, which makes messages, imports generated modules; whatever `xds-protos` ships is known here, also inside
an Any.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import Any as Anything

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message

ANY = "google.protobuf.Any"

_PACKAGES = ("envoy", "xds", "udpa")
_WELL_KNOWN = ("any", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers")
_OLD_API = re.compile(r"\.v(1alpha|2)")
"""Envoy 1.18 dropped v2 of its API; `udpa.type.v1` is still in use."""

_REMEMBERED = 4096
"""Names are given by users, so what is remembered of them is bounded."""


@cache
def pool() -> DescriptorPool:
    """The pool that knows every message of Envoy's v3 API. The first call takes about half a second."""
    for name in (*(f"google.protobuf.{each}_pb2" for each in _WELL_KNOWN), *_modules()):
        import_module(name)
    return descriptor_pool.Default()


@lru_cache(_REMEMBERED)
def descriptor_of(full_name: str) -> Descriptor | None:
    """The descriptor of a message such as `envoy.config.cluster.v3.Cluster`; None when it is not known."""
    try:
        return pool().FindMessageTypeByName(full_name)
    except KeyError:
        return None


@lru_cache(_REMEMBERED)
def class_of(full_name: str) -> type[Message] | None:
    """The class of a message by its full name; None when it is not known."""
    descriptor = descriptor_of(full_name)
    return None if descriptor is None else message_factory.GetMessageClass(descriptor)


def type_of(message: Message) -> Descriptor:
    """The descriptor of a message."""
    return message.DESCRIPTOR  # type: ignore[return-value]  # the stubs tell two kinds apart, which are one


def full_name(type_url: str) -> str:
    """The message's name in a type URL: what follows the last slash."""
    return type_url.rpartition("/")[2]


@cache
def known_names() -> tuple[str, ...]:
    """The full names of all top-level messages of Envoy's API, for suggestions."""
    pool()
    modules = (import_module(name) for name in _modules())
    found = (each.full_name for module in modules for each in module.DESCRIPTOR.message_types_by_name.values())
    return tuple(sorted(found))


def is_map(field: FieldDescriptor) -> bool:
    """Whether a field is a map; its `message_type` is then the entry with the fields `key` and `value`."""
    entry = field.message_type
    return entry is not None and bool(field.is_repeated) and bool(entry.GetOptions().map_entry)


def value_field(field: FieldDescriptor) -> FieldDescriptor:
    """The field that describes the values of a map."""
    entry: Anything = field.message_type
    found: FieldDescriptor = entry.fields_by_name["value"]
    return found


def children(field: FieldDescriptor, value: Anything) -> Iterable[Message]:
    """The messages in the value of a field of message type, be it single, repeated or a map."""
    if not field.is_repeated:
        return (value,)
    items: Iterable[Message] = value
    if is_map(field):
        items = value.values() if value_field(field).message_type is not None else ()
    return items


@cache
def _modules() -> tuple[str, ...]:
    return tuple(sorted(name for package in _PACKAGES for name in _modules_of(package)))


def _modules_of(package: str) -> Iterator[str]:
    for base in import_module(package).__path__:
        for folder, _, files in os.walk(base):
            inner = os.path.relpath(folder, base).replace(os.sep, ".").removeprefix(".")
            prefix = f"{package}.{inner}." if inner else f"{package}."
            names = (prefix + file.removesuffix(".py") for file in files if file.endswith("_pb2.py"))
            yield from (name for name in names if not _OLD_API.search(name))

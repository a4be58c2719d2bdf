"""Words for people: what a field of a message takes, and what was found in its place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from xds_server.translate.protos import is_map

_SCALARS = {
    FieldDescriptor.CPPTYPE_INT32: "a whole number from -2147483648 to 2147483647",
    FieldDescriptor.CPPTYPE_UINT32: "a whole number from 0 to 4294967295",
    FieldDescriptor.CPPTYPE_INT64: "a whole number of 64 bits",
    FieldDescriptor.CPPTYPE_UINT64: "a whole number of 64 bits, 0 or more",
    FieldDescriptor.CPPTYPE_FLOAT: "a number",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_BOOL: "true or false without quotes",
    FieldDescriptor.CPPTYPE_STRING: "a string (numbers and the like need quotes)",
}
_WELL_KNOWN = {
    "google.protobuf.Any": 'a mapping with "@type"',
    "google.protobuf.Duration": 'a duration in seconds such as "1.5s"',
    "google.protobuf.Empty": "an empty mapping",
    "google.protobuf.FieldMask": 'field paths joined by commas such as "name,spec.port"',
    "google.protobuf.ListValue": "a list",
    "google.protobuf.Struct": "a mapping",
    "google.protobuf.Timestamp": 'a time such as "2026-01-31T12:00:00Z"',
    "google.protobuf.Value": "any JSON value",
}
_KINDS: tuple[tuple[type, str], ...] = (
    (dict, "a mapping"),
    (list, "a list"),
    (type(None), "null"),
    (bool, "a boolean"),
    (str, "a string"),
)
_WRAPPER = "google.protobuf."
_MOST_SHOWN = 60
_MOST_VALUES = 12


def is_leaf(descriptor: Descriptor) -> bool:
    """Whether a message is a well-known type that JSON writes in a form of its own, Any apart."""
    name = descriptor.full_name
    return name.startswith(_WRAPPER) and name not in {"google.protobuf.Any", "google.protobuf.Empty"}


def expected(field: FieldDescriptor) -> str:
    """What the field takes as a whole."""
    if is_map(field):
        return "a mapping"
    if field.is_repeated:
        return "a list"
    return expected_item(field)


def expected_item(field: FieldDescriptor) -> str:
    """What the field, or one item of it, takes."""
    if field.message_type is not None:
        return expected_message(field.message_type)
    if field.enum_type is not None:
        return _one_of(field.enum_type)
    return "base64 text" if field.type == FieldDescriptor.TYPE_BYTES else _SCALARS[field.cpp_type]


def expected_message(descriptor: Descriptor) -> str:
    """What a message is written as in proto3 JSON."""
    name = descriptor.full_name
    if name in _WELL_KNOWN:
        return _WELL_KNOWN[name]
    if name.startswith(_WRAPPER):
        return expected_item(descriptor.fields_by_name["value"])
    return f"a mapping ({name})"


def found(value: object, *, secret: bool = False) -> str:
    """What stands there: its kind, and the value itself unless it is long or a secret."""
    name = next((name for kind, name in _KINDS if isinstance(value, kind)), "a number")
    if secret or value is None or isinstance(value, dict | list):
        return name
    shown = json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)
    return f"{shown} ({name})" if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}… ({name})"


def nearest(word: str, known: Sequence[str]) -> str:
    """A clause that names what was probably meant, empty when nothing is near."""
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def _one_of(enum: EnumDescriptor) -> str:
    names = [value.name for value in enum.values]
    more = f", … ({len(names)} in all)" if len(names) > _MOST_VALUES else ""
    return "one of " + ", ".join(names[:_MOST_VALUES]) + more

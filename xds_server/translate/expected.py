"""Words for people: what a field of a message takes, and what was found in its place.

A value is repeated only where it can be no secret: numbers, and words that resemble what the field takes.
"""

from __future__ import annotations

import json
import re
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
_MOST_SHOWN = 30
_MOST_VALUES = 12

_TEXTS = frozenset({FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES})
_MEASURES = frozenset({"google.protobuf.Duration", "google.protobuf.Timestamp"})
_MEASURE = re.compile(r"-?[0-9.,:TZ+-]{1,25} ?[a-z]{0,7}")
_NUMBER = re.compile(r"[-+]?[0-9.]{1,20}([eE][-+]?[0-9]{1,3})?")
_BOOLEANS = frozenset({"true", "false", "yes", "no", "on", "off"})
_NAME = re.compile(r"(?=.{1,40}$)@?[A-Za-z]+\d?([_-][A-Za-z]+\d?)*")
_TYPE_NAME = re.compile(r"(?=.{1,150}$)[A-Za-z_]{1,40}(\.[A-Za-z_]{1,40}\d{0,2}[A-Za-z_]{0,40})*")


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


def found(value: object, takes: FieldDescriptor | Descriptor, *, secret: bool = False) -> str:
    """What stands there: its kind, and the value itself where it can be no secret."""
    name = next((name for kind, name in _KINDS if isinstance(value, kind)), "a number")
    shown = json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool | int | float) else ""
    if secret or not shown or len(shown) > _MOST_SHOWN or not _is_harmless(value, takes):
        return name
    return f"{shown} ({name})"


def _is_harmless(value: object, takes: FieldDescriptor | Descriptor) -> bool:
    """Whether a wrong value can be repeated: not where a text belongs, and a text only if it is nearly right."""
    if isinstance(takes, Descriptor):
        inner = takes.fields_by_name.get("value")
        if takes.full_name in _MEASURES:
            return not isinstance(value, str) or _MEASURE.fullmatch(value) is not None
        return takes.full_name.startswith(_WRAPPER) and inner is not None and _is_harmless(value, inner)
    if takes.type in _TEXTS or takes.message_type is not None:
        return False
    if not isinstance(value, str):
        return True
    if takes.enum_type is not None:
        return bool(_close(value.upper(), [each.name for each in takes.enum_type.values]))
    return _NUMBER.fullmatch(value) is not None or value.lower() in _BOOLEANS


def is_plain_name(name: str) -> bool:
    """Whether an unknown key can be repeated: it looks like a field's name, and not like a piece of a key."""
    return _NAME.fullmatch(name) is not None


def is_type_name(name: str) -> bool:
    """Whether what stands as the name of a type can be repeated."""
    return _TYPE_NAME.fullmatch(name) is not None


def near(word: str, known: Sequence[str]) -> bool:
    """Whether a word is close to a known one, and so a slip rather than something else."""
    return bool(_close(word, known))


def nearest(word: str, known: Sequence[str]) -> str:
    """A clause that names what was probably meant, empty when nothing is near."""
    close = _close(word, known)
    return f"; did you mean {close[0]!r}?" if close else ""


def _close(word: str, known: Sequence[str]) -> list[str]:
    return get_close_matches(word, known, n=1, cutoff=0.6)


def _one_of(enum: EnumDescriptor) -> str:
    names = [value.name for value in enum.values]
    more = f", … ({len(names)} in all)" if len(names) > _MOST_VALUES else ""
    return "one of " + ", ".join(names[:_MOST_VALUES]) + more

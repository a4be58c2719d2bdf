"""What `json_format` lets pass though proto3 JSON does not allow it: a field in both spellings, wrong base64."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from xds_server.translate.protos import descriptor_of, known_names

_REMEMBERED = 4096
"""Keys are given by users, so what is remembered of them is bounded."""

_BYTES_VALUE = "google.protobuf.BytesValue"
_UPPER = re.compile(r"[A-Z]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_SPACE = re.compile(r"\s+")


def may_be_lax(body: dict[str, object]) -> bool:
    """Whether something in a body looks like one of these faults. It looks at keys only, and so is fast.

    What it finds may be right all the same, such as two keys of a Struct.
    """
    todo: list[object] = [body]
    while todo:
        value = todo.pop()
        if isinstance(value, list):
            todo += value
        elif isinstance(value, dict):
            for key, each in value.items():
                if _is_watched(key) and _is_suspect(key, each, value):
                    return True
                if isinstance(each, dict | list):
                    todo.append(each)
    return False


@lru_cache(_REMEMBERED)
def _is_watched(key: str) -> bool:
    """Whether what stands under a key is to be looked at more closely: few are."""
    return key in names_of_bytes() or key == "@type" or _snake(key) != key


def _is_suspect(key: str, each: object, within: Mapping[str, object]) -> bool:
    if key == "@type":
        wrapped = within.get("value") if isinstance(each, str) and each.endswith(_BYTES_VALUE) else None
        return isinstance(wrapped, str) and not is_base64(wrapped)
    texts = each if isinstance(each, list) else [each]
    if key in names_of_bytes() and not all(is_base64(text) for text in texts if isinstance(text, str)):
        return True
    snake = _snake(key)
    return snake != key and snake in within


def is_base64(text: str) -> bool:
    """Whether a text is base64 in the standard or the URL-safe alphabet, with or without padding.

    White space is let pass: long values are written in several lines.
    """
    packed = _SPACE.sub("", text)
    return _BASE64.fullmatch(packed) is not None and len(packed.rstrip("=")) % 4 != 1


def holds_bytes(field: FieldDescriptor) -> bool:
    """Whether a field takes base64."""
    wrapped = field.message_type is not None and field.message_type.full_name == _BYTES_VALUE
    return field.type == FieldDescriptor.TYPE_BYTES or wrapped


def _snake(key: str) -> str:
    return _UPPER.sub(lambda found: f"_{found[0].lower()}", key)


@cache
def names_of_bytes() -> frozenset[str]:
    """The names, in both spellings, of all fields of Envoy's API that take base64."""
    tops = (descriptor_of(name) for name in known_names())
    fields = [field for top in tops if top is not None for field in _fields(top) if holds_bytes(field)]
    return frozenset({field.name for field in fields} | {field.json_name for field in fields})


def _fields(descriptor: Descriptor) -> Iterator[FieldDescriptor]:
    yield from descriptor.fields
    for each in descriptor.nested_types:
        yield from _fields(each)

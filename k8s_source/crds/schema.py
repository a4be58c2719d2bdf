"""From a typed kind to a structural schema, as a CustomResourceDefinition has it (OpenAPI v3, and Kubernetes' own keys).

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, EnumMeta
from types import NoneType
from typing import Any, get_args

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from k8s_source.kinds.words import alternatives, bare, base, metas, parameters

Schema = dict[str, Any]

_LARGEST_EXACT = 2**53
"""Bounds are kept as 64-bit floats; one beyond this is left to `format: int64`."""

_SMALL = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Notes:
    """What types do not say of a struct.

    `words` are the descriptions of its fields, `rules` what they demand of each other (CEL). `more` is laid over the schemas
    of single fields. A default is `unstored` where it depends on other fields whether it means anything.
    """

    words: Mapping[str, str]
    rules: tuple[Schema, ...] = ()
    more: Mapping[str, Schema] = field(default_factory=dict)
    unstored: frozenset[str] = frozenset()
    is_required: bool = True
    """Whether what is missing is an error: a status is written by parts."""


Book = Mapping[type[Struct], Notes]
"""Notes by struct; those of a base hold for what is derived from it."""


def object_schema(kind: type[Struct], book: Book) -> Schema:
    """The schema of a struct.

    Raises:
        KeyError: The book has no words for one of its fields.
    """
    notes = [book[each] for each in reversed(kind.__mro__) if each in book]
    fields = {each.encode_name: each for each in msgspec.structs.fields(kind)}
    words = {name: text for each in notes for name, text in each.words.items()}
    schema: Schema = {"type": "object", "properties": {}}
    if all(each.is_required for each in notes) and (needed := [name for name in fields if fields[name].required]):
        schema["required"] = needed
    unstored = frozenset[str]().union(*(each.unstored for each in notes))
    for name, each in fields.items():
        found = {"description": words[name], **value_schema(each.type, book)}
        if name not in unstored and (default := _default(each)) is not None:
            found["default"] = default
        for note in notes:
            found |= note.more.get(name, {})
        schema["properties"][name] = found
    if rules := [rule for each in notes for rule in each.rules]:
        schema["x-kubernetes-validations"] = rules
    return schema


def value_schema(annotation: Any, book: Book) -> Schema:
    """The schema of a value, without a description."""
    types = alternatives(annotation)
    schema: Schema = {}
    for each in types:
        schema |= _single(each, book)
    kinds = {base(each) for each in types}
    if kinds == {int, str}:
        schema = {key: value for key, value in schema.items() if key not in {"type", "format"}}
        schema["x-kubernetes-int-or-string"] = True
    elif kinds == {int, float}:
        schema = {key: value for key, value in schema.items() if key == "minimum"} | {"type": "number"}
    return schema


def nullable(annotation: Any) -> bool:
    """Whether a type takes null."""
    return NoneType in get_args(bare(annotation))


def _single(annotation: Any, book: Book) -> Schema:
    kind = base(annotation)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return object_schema(kind, book)
    if kind is tuple:
        return {"type": "array", "items": value_schema(parameters(annotation)[0], book)}
    if kind is dict:
        values = value_schema(parameters(annotation)[1], book)
        return {"type": "object", "additionalProperties": values | _null(parameters(annotation)[1])}
    if isinstance(kind, EnumMeta):
        return {"type": "string", "enum": [str(each.value) for each in kind]}  # type: ignore[var-annotated]
    bounds = dict(pair for each in metas(annotation) for pair in _bounds(each))
    return {"type": _TYPES[kind], **_format(kind, bounds), **bounds}


_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


def _null(annotation: Any) -> Schema:
    return {"nullable": True} if nullable(annotation) else {}


def _format(kind: type, bounds: Schema) -> Schema:
    if kind is int:
        return {"format": "int32" if bounds.get("maximum", _LARGEST_EXACT) <= _SMALL else "int64"}
    return {"format": "double"} if kind is float else {}


def _bounds(meta: Meta) -> Iterator[tuple[str, Any]]:
    """The bounds that both have words for."""
    least = meta.ge if meta.gt is None else meta.gt
    if least is not None:
        yield "minimum", least
    if meta.gt is not None:
        yield "exclusiveMinimum", True
    if meta.le is not None and meta.le <= _LARGEST_EXACT:
        yield "maximum", meta.le
    if meta.min_length is not None:
        yield "minLength", meta.min_length
    if meta.max_length is not None:
        yield "maxLength", meta.max_length
    if meta.pattern is not None:
        # RE2 has no \Z; its $ is the end of the text.
        yield "pattern", meta.pattern.replace(r"\Z", "$")
    yield from (meta.extra_json_schema or {}).items()


def _default(found: msgspec.structs.FieldInfo) -> object:
    """The default that is worth storing; None where there is none, or nothing to be seen of it."""
    default = found.default
    if default is NODEFAULT or default is None or isinstance(default, Struct | tuple | dict):
        return None
    return default.value if isinstance(default, Enum) else default

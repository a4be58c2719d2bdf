"""Finds all places where a manifest does not fit its kind; `msgspec` itself tells of the first one only.

The walk goes through types and values side by side and has `msgspec` judge each single value, so that both agree on
what is right. What is said repeats no value of a Secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Struct

from k8s_source.kinds.fault import Fault, FaultsError, join
from k8s_source.kinds.words import alternatives, base, expected, found, is_field_name, meant, nearest, parameters


def find_faults(value: object, annotation: Any, path: str = "", *, secret: bool = False) -> Iterator[Fault]:
    """All faults of a value that should be of a type; `path` is where it stands, `secret` that nothing is repeated."""
    for each in alternatives(annotation):
        kind = base(each)
        if isinstance(value, Mapping) and isinstance(kind, type) and issubclass(kind, Struct):
            yield from _struct(value, kind, path, secret=secret)
            return
        if isinstance(value, Mapping) and kind is dict:
            yield from _entries(value, parameters(each)[1], path, secret=secret)
            return
        if isinstance(value, list) and kind is tuple:
            for index, item in enumerate(value):
                yield from find_faults(item, parameters(each)[0], f"{path}[{index}]", secret=secret)
            return
    if _error(value, annotation) is not None:
        clause = "" if secret else meant(value, annotation)
        message = f"expected {expected(annotation)}, found {found(value, secret=secret)}{clause}"
        yield Fault(path, "InvalidValue", message)


def _struct(value: Mapping[str, object], kind: type[Struct], path: str, *, secret: bool) -> Iterator[Fault]:
    faults = list(_fields(value, kind, path, secret=secret))
    yield from faults
    error = None if faults else _error(value, kind)
    if error is not None and isinstance(error.__cause__, FaultsError):
        for fault in error.__cause__.faults:
            yield replace(fault, path=f"{path}.{fault.path}" if path else fault.path)


def _fields(value: Mapping[str, object], kind: type[Struct], path: str, *, secret: bool) -> Iterator[Fault]:
    fields = {each.encode_name: each for each in msgspec.structs.fields(kind)}
    for name, field in fields.items():
        if field.required and name not in value:
            yield Fault(join(path, name), "MissingField", f"missing; expected {expected(field.type)}")
    for key, each in value.items():
        if key in fields:
            yield from find_faults(each, fields[key].type, join(path, key), secret=secret)
        elif kind.__struct_config__.forbid_unknown_fields:
            yield _unknown(key, list(fields), path)


def _unknown(key: str, known: list[str], path: str) -> Fault:
    where = path or "the manifest"
    if not is_field_name(key):
        return Fault(path, "UnknownField", f"{where} has no field of a name that stands here{nearest('', known)}")
    return Fault(join(path, key), "UnknownField", f"{where} has no field {key!r}{nearest(key, known)}")


def _entries(value: Mapping[str, object], annotation: Any, path: str, *, secret: bool) -> Iterator[Fault]:
    for key, each in value.items():
        # A key of a Secret may be a value in the wrong place.
        here = path if secret else join(path, key)
        yield from find_faults(each, annotation, here, secret=secret)


def _error(value: object, annotation: Any) -> msgspec.ValidationError | None:
    """What `msgspec` says against a value."""
    try:
        msgspec.convert(value, annotation)
    except msgspec.ValidationError as error:
        return error
    return None

"""Finds where a JSON body does not fit its message: walks both side by side after `json_format` has refused.

`json_format` names neither the path nor what it wanted in a form for people. Values are tried one by one with the
same library, so that both always agree on what is right. What is said repeats no value that may be a secret, and no
key that may be a value in the wrong place: errors end up in logs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from xds_server.translate.expected import (
    expected,
    expected_item,
    expected_message,
    found,
    is_leaf,
    is_plain_name,
    is_type_name,
    near,
    nearest,
)
from xds_server.translate.protos import (
    ANY,
    class_of,
    descriptor_of,
    full_name,
    is_map,
    known_names,
    value_field,
)
from xds_server.translate.sensitive import is_sensitive, may_hold_secrets
from xds_server.translate.strict import holds_bytes, is_base64

PARSE_ERRORS = (json_format.ParseError, AttributeError, TypeError, ValueError, KeyError, RecursionError)
"""What `json_format.ParseDict` raises: its own error, and Python's for values of a kind that it does not check."""

MERGE_KEY = 'merge keys ("<<") are not part of YAML 1.2; write the fields out'
_HIDDEN = "it is not repeated, since it may be a secret in the wrong place"

_PLAIN_KEY = re.compile(r"[A-Za-z_@][\w@-]*")


@dataclass(frozen=True, slots=True)
class Fault:
    """One place that is wrong: its path in the body, a reason for programs, a sentence for people."""

    path: str
    reason: str
    message: str


def find_fault(body: Mapping[str, object], descriptor: Descriptor) -> Fault | None:
    """The first fault of a body in the order of its keys; None when this walk finds none."""
    return next(iter(find_faults(body, descriptor, 1)), None)


def find_faults(body: Mapping[str, object], descriptor: Descriptor, most: int) -> list[Fault]:
    """The first `most` faults of a body in the order of its keys."""
    try:
        return list(islice(_message(body, descriptor, "", secret=False), most))
    except RecursionError:
        return [Fault("", "TooDeep", "the document is nested too deeply")]


@lru_cache(maxsize=256)  # the same mistake tends to come many times, and looking for what was meant is slow
def unknown_type(name: str) -> str:
    """Say that a message type is not known, and which one was probably meant."""
    if re.search(r"\.v2(alpha\d*)?\.|\.api\.v2", name):
        return f"{name} is of version 2 of Envoy's API, which Envoy has dropped; use the type of version 3"
    if name and not is_type_name(name):
        return "what stands here is no name of a type, such as type.googleapis.com/envoy.config.cluster.v3.Cluster"
    return f"{name or 'the empty name'} is no known type of Envoy's API{nearest(name, known_names())}"


def join(path: str, key: str) -> str:
    """The path of a key below a path: `a.b`, or `a["x.y"]` for a key that is no plain word."""
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def _message(value: object, descriptor: Descriptor, path: str, *, secret: bool) -> Iterator[Fault]:
    if is_leaf(descriptor):
        yield from _leaf(value, descriptor, path, secret=secret)
    elif not isinstance(value, Mapping):
        yield _wrong(path, expected_message(descriptor), value, descriptor, secret=secret)
    elif descriptor.full_name == ANY:
        yield from _any(value, path, secret=secret)
    else:
        yield from _fields(value, descriptor, path, secret=secret)


def _fields(body: Mapping[str, object], descriptor: Descriptor, path: str, *, secret: bool) -> Iterator[Fault]:
    by_key = {each.json_name: each for each in descriptor.fields} | {each.name: each for each in descriptor.fields}
    chosen: dict[str, str] = {}
    spelt: dict[str, str] = {}
    for key, value in body.items():
        field = by_key.get(key)
        if field is None:
            yield _unknown_field(path, key, descriptor, secret=secret)
            continue
        if (other := spelt.setdefault(field.name, key)) != key:
            yield Fault(join(path, key), "Conflict", f"{key} and {other} are two spellings of one field: write one")
        if value is not None:  # null is the same as absent
            here = join(path, key)
            oneof = field.containing_oneof
            if oneof is not None and (other := chosen.setdefault(oneof.name, key)) != key:
                yield Fault(here, "Conflict", f"{key} and {other} exclude each other: set only one of them")
            yield from _field(value, field, here, secret=secret or is_sensitive(field))


def _field(value: object, field: FieldDescriptor, path: str, *, secret: bool) -> Iterator[Fault]:
    if is_map(field):
        yield from _map(value, field, path, secret=secret)
    elif field.is_repeated:
        yield from _list(value, field, path, secret=secret)
    else:
        yield from _item(value, field, path, secret=secret)


def _map(value: object, field: FieldDescriptor, path: str, *, secret: bool) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield _wrong(path, expected(field), value, field, secret=secret)
        return
    for key, each in value.items():
        # Below a secret the keys of a map may be misplaced secrets themselves.
        yield from _item(each, value_field(field), path if secret else join(path, key), secret=secret)


def _list(value: object, field: FieldDescriptor, path: str, *, secret: bool) -> Iterator[Fault]:
    if not isinstance(value, list | tuple):
        yield _wrong(path, expected(field), value, field, secret=secret)
        return
    for index, each in enumerate(value):
        yield from _item(each, field, f"{path}[{index}]", secret=secret)


def _item(value: object, field: FieldDescriptor, path: str, *, secret: bool) -> Iterator[Fault]:
    if field.message_type is not None:
        yield from _message(value, field.message_type, path, secret=secret)
        return
    whole = [value] if field.is_repeated else value
    is_lax = holds_bytes(field) and isinstance(value, str) and not is_base64(value)
    if value is None or is_lax or not _fits({field.name: whole}, field.containing_type):
        fault = _wrong(path, expected_item(field), value, field, secret=secret)
        yield replace(fault, message=fault.message + _meant(value, field))


def _leaf(value: object, descriptor: Descriptor, path: str, *, secret: bool) -> Iterator[Fault]:
    if value is None and descriptor.full_name == "google.protobuf.Value":
        return
    is_lax = descriptor.full_name.endswith("BytesValue") and isinstance(value, str) and not is_base64(value)
    if value is None or is_lax or not _fits(value, descriptor):
        yield _wrong(path, expected_message(descriptor), value, descriptor, secret=secret)


def _any(value: Mapping[str, object], path: str, *, secret: bool) -> Iterator[Fault]:
    if not value:
        return
    type_url = value.get("@type")
    here = join(path, "@type")
    if not isinstance(type_url, str):
        yield Fault(here, "MissingType", "expected the type of the message, such as type.googleapis.com/envoy…")
        return
    name = full_name(type_url)
    descriptor = descriptor_of(name)
    if descriptor is None:
        yield Fault(here, "UnknownType", unknown_type(name))
    elif is_leaf(descriptor) or name == ANY:
        yield from _message(value.get("value"), descriptor, join(path, "value"), secret=secret)
    else:
        rest = {key: each for key, each in value.items() if key != "@type"}
        yield from _fields(rest, descriptor, path, secret=secret)


def _fits(value: object, descriptor: Descriptor | None) -> bool:
    """Whether `json_format` takes a value for a message."""
    cls = None if descriptor is None else class_of(descriptor.full_name)
    if cls is None:
        return True
    try:
        json_format.ParseDict(value, cls())  # type: ignore[arg-type]
    except PARSE_ERRORS:
        return False
    return True


def _wrong(path: str, wanted: str, value: object, takes: FieldDescriptor | Descriptor, *, secret: bool) -> Fault:
    return Fault(path, "InvalidValue", f"expected {wanted}, found {found(value, takes, secret=secret)}")


def _meant(value: object, field: FieldDescriptor) -> str:
    if field.enum_type is None or not isinstance(value, str):
        return ""
    return nearest(value.upper(), [each.name for each in field.enum_type.values])


def _unknown_field(path: str, key: str, descriptor: Descriptor, *, secret: bool) -> Fault:
    """A key that is no field; where secrets belong it is named only when it is a slip of a known name."""
    if key == "<<":
        return Fault(join(path, key), "UnknownField", MERGE_KEY)
    snake = "_" in key or key.islower()
    known = [each.name if snake else each.json_name for each in descriptor.fields]
    guarded = secret or may_hold_secrets(descriptor)
    if near(key, known) or (is_plain_name(key) and not guarded):
        message = f"{descriptor.full_name} has no field {key!r}{nearest(key, known)}"
        return Fault(join(path, key), "UnknownField", message)
    return Fault(path, "UnknownField", f"{descriptor.full_name} has no field of a name that stands here; {_HIDDEN}")

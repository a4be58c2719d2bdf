"""Blacks out secrets in the JSON form of a message, found by Envoy's own marks on fields."""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from xds_server.translate.expected import is_leaf
from xds_server.translate.protos import ANY, descriptor_of, full_name, is_map, is_sensitive, value_field

REDACTED = "[redacted]"

_DATA_SOURCE = "envoy.config.core.v3.DataSource"
_NOT_SECRET = frozenset({"filename", "environment_variable", "watched_directory"})
"""Fields of a data source that say where a secret is, not what it is."""


def redact(js: dict[str, object], descriptor: Descriptor) -> None:
    """Replace the secrets in the JSON form (with proto field names) of a message by `[redacted]`, in place."""
    if descriptor.full_name == ANY:
        inner = descriptor_of(full_name(str(js.get("@type", ""))))
        # Other well-known types in an Any have no fields: a plain value, or a Struct that tells nothing of secrets.
        if inner is not None and not is_leaf(inner) and inner.full_name != ANY:
            redact(js, inner)
        return
    for key, value in js.items():
        field = descriptor.fields_by_name.get(key)
        if field is None:
            continue
        if is_sensitive(field):
            js[key] = _blacked(value, field)
        elif field.message_type is not None:
            _redact_field(value, field)


def _redact_field(value: object, field: FieldDescriptor) -> None:
    descriptor = field.message_type
    items: list[object] = value if isinstance(value, list) else [value]
    if is_map(field) and isinstance(value, dict):
        descriptor, items = value_field(field).message_type, list(value.values())
    if descriptor is None or is_leaf(descriptor):
        return
    for item in items:
        if isinstance(item, dict):
            redact(item, descriptor)


def _blacked(value: object, field: FieldDescriptor) -> object:
    """A sensitive field's value with every leaf replaced, but for what only says where a data source lies."""
    descriptor = (value_field(field) if is_map(field) else field).message_type
    keep = _NOT_SECRET if descriptor is not None and descriptor.full_name == _DATA_SOURCE else frozenset()
    return _black(value, keep)


def _black(value: object, keep: frozenset[str]) -> object:
    if isinstance(value, dict):
        return {key: each if key in keep or key == "@type" else _black(each, keep) for key, each in value.items()}
    if isinstance(value, list):
        return [_black(each, keep) for each in value]
    return REDACTED

"""Makes the JSON form of a message fit to be shown: secrets blacked out, maps in order.

Secrets are found by Envoy's own marks on fields.
"""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from xds_server.translate.expected import is_leaf
from xds_server.translate.protos import ANY, descriptor_of, full_name, is_map, is_sensitive, value_field

REDACTED = "[redacted]"

_DATA_SOURCE = "envoy.config.core.v3.DataSource"
_NOT_SECRET = frozenset({"filename", "environment_variable", "watched_directory"})
"""Fields of a data source that say where a secret is, not what it is."""


def present(js: dict[str, object], descriptor: Descriptor) -> None:
    """Replace the secrets in the JSON form (with proto field names) of a message by `[redacted]`, in place.

    Maps, whose order protobuf leaves open, are put in the order of their keys.
    """
    if descriptor.full_name == ANY:
        _present_any(js)
        return
    for key, value in js.items():
        field = descriptor.fields_by_name.get(key)
        if field is None:
            continue
        shown = _blacked(value, field) if is_sensitive(field) else value
        js[key] = dict(sorted(shown.items())) if is_map(field) and isinstance(shown, dict) else shown
        if field.message_type is not None and shown is value:
            js[key] = _present_field(js[key], field)


def _present_any(js: dict[str, object]) -> None:
    inner = descriptor_of(full_name(str(js.get("@type", ""))))
    if inner is None or inner.full_name == ANY:
        return
    if is_leaf(inner):
        js["value"] = _in_order(js.get("value"))
    else:
        present(js, inner)


def _present_field(value: object, field: FieldDescriptor) -> object:
    descriptor = field.message_type
    items: list[object] = value if isinstance(value, list) else [value]
    if is_map(field) and isinstance(value, dict):
        descriptor, items = value_field(field).message_type, list(value.values())
    if descriptor is None:
        return value
    if is_leaf(descriptor):
        return _in_order(value)
    for item in items:
        if isinstance(item, dict):
            present(item, descriptor)
    return value


def _in_order(value: object) -> object:
    """A free JSON value (of a Struct) with the keys of its mappings in order."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(each) for each in value] if isinstance(value, list) else value


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

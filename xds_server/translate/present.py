"""Makes the JSON form of a message fit to be shown: secrets blacked out, maps in order.

Secrets are found by Envoy's own marks on fields. In free JSON (a Struct), which has no marks, they are found by the
names of keys, and where it says which message it stands for (TypedStruct), by that message's marks too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from xds_server.translate.expected import is_leaf
from xds_server.translate.protos import ANY, descriptor_of, full_name, is_map, value_field
from xds_server.translate.sensitive import is_secret_name, is_sensitive, pair_of

REDACTED = "[redacted]"

_TYPED_STRUCTS = frozenset({"xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct"})
_DATA_SOURCE = "envoy.config.core.v3.DataSource"
_NOT_SECRET = frozenset(
    {"filename", "environment_variable", "environmentVariable", "watched_directory", "watchedDirectory"}
)
"""Fields of a data source that say where a secret is, not what it is."""

_NAMES = ("key", "name")
_VALUES = frozenset({"value", "raw_value", "rawValue", "string_value", "stringValue"})
"""How free JSON that pairs a name with a value calls both."""


def present(js: dict[str, object], descriptor: Descriptor) -> None:
    """Replace the secrets in the JSON form (with proto field names) of a message by `[redacted]`, in place.

    Maps, whose order protobuf leaves open, are put in the order of their keys.
    """
    _message(js, descriptor, free=False)


def present_free(value: object) -> object:
    """Free JSON, of no known message, without what looks like a secret by its key."""
    return _free(value)


def _message(js: dict[str, object], descriptor: Descriptor, *, free: bool) -> None:
    """With `free` the JSON was never checked against the message, and may use either spelling of a field."""
    if descriptor.full_name == ANY:
        _any(js, free=free)
    elif descriptor.full_name in _TYPED_STRUCTS:
        _typed_struct(js)
    else:
        fields = _spellings(descriptor) if free else descriptor.fields_by_name
        hidden = _hidden(js, descriptor)
        for key, value in js.items():
            field = fields.get(key)
            if field is not None:
                js[key] = _field(value, field, free=free, hidden=field.name in hidden)
            elif free and key != "@type":
                js[key] = _keyed(key, value)


def _any(js: dict[str, object], *, free: bool) -> None:
    inner = descriptor_of(full_name(str(js.get("@type", ""))))
    if inner is None or inner.full_name == ANY or is_leaf(inner):
        js.update({key: _free(each) for key, each in js.items() if key != "@type"})
    else:
        _message(js, inner, free=free)


def _typed_struct(js: dict[str, object]) -> None:
    value = _sorted(js.get("value"))
    inner = descriptor_of(full_name(str(js.get("type_url", js.get("typeUrl", "")))))
    if isinstance(value, dict) and inner is not None and not is_leaf(inner):
        _message(value, inner, free=True)
        js["value"] = value
    elif value is not None:
        js["value"] = _free(value)


def _hidden(js: Mapping[str, object], descriptor: Descriptor) -> frozenset[str]:
    """The fields that hold a secret because another field says so, such as the value of an Authorization header."""
    pair = pair_of(descriptor)
    return pair[1] if pair is not None and is_secret_name(str(js.get(pair[0], ""))) else frozenset()


def _field(value: object, field: FieldDescriptor, *, free: bool, hidden: bool) -> object:
    if hidden or is_sensitive(field):
        shown = _blacked(value, field)
        return dict(sorted(shown.items())) if is_map(field) and isinstance(shown, dict) else shown
    if is_map(field):
        return _map(value, field, free=free)
    if field.message_type is None:
        return value
    if is_leaf(field.message_type):
        return _free(value)
    items = value if isinstance(value, list) else [value]
    if free and not all(isinstance(item, dict) for item in items):
        return _keyed(field.name, value)
    for item in items:
        if isinstance(item, dict):
            _message(item, field.message_type, free=free)
    return value


def _map(value: object, field: FieldDescriptor, *, free: bool) -> object:
    if not isinstance(value, dict):
        return _keyed(field.name, value)
    descriptor = value_field(field).message_type
    if descriptor is None or descriptor.full_name == "google.protobuf.Value":
        return _free(value)
    if is_leaf(descriptor):
        return {key: _free(value[key]) for key in sorted(value)}
    for item in value.values():
        if isinstance(item, dict):
            _message(item, descriptor, free=free)
    return dict(sorted(value.items()))


def _free(value: object) -> object:
    """Free JSON without what looks like a secret by its key, and with the keys of its mappings in order."""
    if isinstance(value, list):
        return [_free(each) for each in value]
    if not isinstance(value, dict):
        return value
    inner = descriptor_of(full_name(str(value.get("@type", ""))))
    if inner is not None and not is_leaf(inner):
        js = {key: _sorted(value[key]) for key in sorted(value)}
        _message(js, inner, free=True)
        return js
    names_secret = any(is_secret_name(str(value.get(name, ""))) for name in _NAMES)
    return {
        key: _black(value[key], _NOT_SECRET) if names_secret and key in _VALUES else _keyed(key, value[key])
        for key in sorted(value)
    }


def _keyed(key: str, value: object) -> object:
    """A value of free JSON below its key. True, false and null are no secrets."""
    if not is_secret_name(key) or value is None or isinstance(value, bool):
        return _free(value)
    return _black(value, _NOT_SECRET)


def _sorted(value: object) -> object:
    """A copy of free JSON with the keys of its mappings in order."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


@cache
def _spellings(descriptor: Descriptor) -> Mapping[str, FieldDescriptor]:
    return {each.json_name: each for each in descriptor.fields} | {each.name: each for each in descriptor.fields}


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

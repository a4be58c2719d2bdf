"""The JSON form of resources for people and programs, without secrets; it takes any resource and never raises."""

from __future__ import annotations

from typing import Any as Anything

from google.protobuf import json_format
from google.protobuf.message import Message

from xds_server.translate.messages import parse, rewrite
from xds_server.translate.present import REDACTED, present
from xds_server.translate.protos import ANY, class_of, type_of
from xds_server.translate.sensitive import is_secret_text
from xds_server.wire.resource import Resource

_STRUCT = "type.googleapis.com/google.protobuf.Struct"
_OPAQUE = "[opaque]"


def to_json(resource: Resource) -> dict[str, object]:
    """The proto3 JSON of a resource with proto field names and `@type`; secrets are `[redacted]`.

    What can't be shown (a type that is not known, bytes that are not of their type) is said so in its place.
    """
    if not resource.is_known:
        return _unreadable(resource, "it holds a secret, so it was not stored, and its source has not spoken since")
    message = parse(resource.type_url, resource.body)
    if message is None:
        return _unreadable(resource, f"{len(resource.body)} bytes that are not of a known type")
    rewrite(message, _wrap_opaque)
    try:
        js: dict[str, object] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    except (json_format.SerializeToJsonError, TypeError, ValueError, RecursionError) as error:
        # Such as an infinite number in a Struct, which JSON can't say. The text might quote the value.
        return _unreadable(resource, f"has no JSON form ({type(error).__name__})")
    present(js, type_of(message))
    return {"@type": resource.type_url, **{key: _finished(value) for key, value in js.items()}}


def _unreadable(resource: Resource, why: str) -> dict[str, object]:
    return {"@type": resource.type_url, "name": resource.name, "unreadable": why}


def _wrap_opaque(message: Message) -> None:
    """Put a Struct that `json_format` can print in the place of an Any that it can't."""
    if message.DESCRIPTOR.full_name == ANY:
        _wrap_any(message)


def _wrap_any(message: Anything) -> None:
    if message.type_url and parse(message.type_url, message.value) is None:
        struct: Anything = class_of("google.protobuf.Struct")
        note = struct()
        note.update({_OPAQUE: message.type_url, "bytes": len(message.value)})
        message.type_url, message.value = _STRUCT, note.SerializeToString()


def _finished(value: object) -> object:
    """Put the notes on opaque Anys in their form, and hide texts that look like secrets wherever they stand."""
    if isinstance(value, str):
        return REDACTED if is_secret_text(value) else value
    if isinstance(value, list):
        return [_finished(each) for each in value]
    if not isinstance(value, dict):
        return value
    note = value.get("value")
    if value.get("@type") == _STRUCT and isinstance(note, dict) and _OPAQUE in note:
        return {"@type": note[_OPAQUE], "unreadable": f"{int(note['bytes'])} bytes of a type that is not known"}
    return {key: _finished(each) for key, each in value.items()}

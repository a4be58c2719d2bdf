"""A resource as bytes that may be shown to anybody: with its secrets blacked out, by the rules of `render`."""

from __future__ import annotations

from typing import Any as Anything

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from xds_server.translate.protos import class_of, full_name
from xds_server.translate.render import to_json
from xds_server.translate.replay import without_secrets
from xds_server.translate.secrecy import holds_secrets
from xds_server.wire.resource import Resource

_STRUCT = "google.protobuf.Struct"


def redacted(resource: Resource) -> tuple[str, bytes]:
    """Type URL and bytes of an Any. What is not text can't say `[redacted]`: then it is a Struct with the JSON form."""
    if not holds_secrets(resource):
        return resource.type_url, resource.body
    shown = to_json(resource)
    body = {key: value for key, value in shown.items() if key != "@type"}
    cls: Anything = class_of(full_name(resource.type_url))
    if cls is not None:
        try:
            return resource.type_url, json_format.ParseDict(body, cls()).SerializeToString(deterministic=True)
        except (json_format.ParseError, TypeError, ValueError):
            pass
    struct: Anything = class_of(_STRUCT)
    message = json_format.ParseDict(shown, struct())
    return f"type.googleapis.com/{_STRUCT}", message.SerializeToString(deterministic=True)


def redacted_struct(raw: bytes) -> bytes:
    """The bytes of a Struct without what looks like a secret, such as a token that a node has in its metadata.

    None of one that is no JSON: numbers without a value, nesting without an end.
    """
    if not raw:
        return raw
    cls: Anything = class_of(_STRUCT)
    try:
        shown: Anything = without_secrets(json_format.MessageToDict(cls.FromString(raw)))
        made: bytes = json_format.ParseDict(shown, cls()).SerializeToString()
    except (json_format.Error, DecodeError, ValueError, RecursionError):
        return b""
    return made

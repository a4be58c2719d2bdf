"""A node's metadata as they are shown: without secrets, and not at all where they are no JSON."""

from __future__ import annotations

from typing import Any

from google.protobuf import json_format, struct_pb2

from xds_server.translate.redact import redacted_struct


def shown(struct: Any) -> Any:
    return json_format.MessageToDict(struct_pb2.Struct.FromString(redacted_struct(struct.SerializeToString())))


def of(**values: Any) -> Any:
    made = struct_pb2.Struct()
    made.update(values)
    return made


def test_secrets_are_told_by_key_and_by_text() -> None:
    found = shown(of(team="a", n=1, api_token="planted", more={"note": "Bearer planted-0123", "list": ["x", None]}))
    hidden = "[redacted]"
    assert found == {"team": "a", "n": 1, "api_token": hidden, "more": {"note": hidden, "list": ["x", None]}}


def test_what_is_no_json_is_not_shown() -> None:
    deep = of(a=1)
    for _ in range(60):
        outer = struct_pb2.Struct()
        outer.fields["a"].struct_value.CopyFrom(deep)
        deep = outer
    for struct in (of(n=float("nan"), team="a"), deep):
        assert redacted_struct(struct.SerializeToString()) == b""
    assert redacted_struct(b"") == b""

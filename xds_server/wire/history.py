"""Records of the history from their bytes."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from xds_server.wire.gen.history_pb2 import Pushed, Snapshot


def parse_snapshot(raw: bytes) -> Snapshot | None:
    """The record of a stored snapshot; None where the bytes are none."""
    try:
        return Snapshot.FromString(raw)
    except DecodeError:
        return None


def parse_pushed(raw: bytes) -> Pushed | None:
    """The record of a change of a pushed set; None where the bytes are none."""
    try:
        return Pushed.FromString(raw)
    except DecodeError:
        return None

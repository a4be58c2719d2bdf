"""Protobuf wire format by hand: the few fields that a discovery response is made of.

Only tags, varints and length-delimited fields are needed (protobuf encoding guide), and writing them here
lets one resource's bytes be shared by every response that carries it.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def varint(value: int) -> bytes:
    """Encode a non-negative integer as a base-128 varint."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, payload: bytes) -> bytes:
    """Encode one length-delimited field (string, bytes, message); an empty payload is left out (proto3)."""
    if not payload:
        return b""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def text(number: int, value: str) -> bytes:
    """Encode one string field."""
    return field(number, value.encode())

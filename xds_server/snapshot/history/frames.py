"""Frames: records one after the other in a file, each with its length and checksums (see `proto/history.proto`)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import StrEnum
from zlib import crc32

MAGIC = b"tidegate history 1\n"
"""How a file begins."""

_HEADER = struct.Struct("<II")
_CHECK = struct.Struct("<I")
_LENGTH = _HEADER.size + _CHECK.size


class Damage(StrEnum):
    """Why reading ended before the end: a record that ends too soon, or something that is wrong."""

    TORN = "torn"
    CORRUPT = "corrupt"


@dataclass(slots=True)
class Frames:
    """The records that are whole, each with the position at which it ends; `damage` is None when these are all."""

    records: list[tuple[bytes, int]] = field(default_factory=list)
    damage: Damage | None = None


def frame(record: bytes) -> bytes:
    """A record with its header."""
    header = _HEADER.pack(len(record), crc32(record))
    return b"".join((header, _CHECK.pack(crc32(header)), record))


def read_frames(data: bytes) -> Frames:
    """The records of a file, up to the first that is not whole."""
    found = Frames()
    if not data.startswith(MAGIC):
        found.damage = Damage.CORRUPT
        return found
    position = len(MAGIC)
    while position < len(data):
        start = position + _LENGTH
        if start > len(data):
            found.damage = Damage.TORN
            break
        length, checksum = _HEADER.unpack_from(data, position)
        if _CHECK.unpack_from(data, position + _HEADER.size)[0] != crc32(data[position : position + _HEADER.size]):
            found.damage = Damage.CORRUPT
            break
        position = start + length
        if position > len(data):
            found.damage = Damage.TORN
            break
        record = data[start:position]
        if crc32(record) != checksum:
            found.damage = Damage.CORRUPT
            break
        found.records.append((record, position))
    return found

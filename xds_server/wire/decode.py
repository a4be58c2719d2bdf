"""Protobuf wire format by hand, the reading side: find one field by its length without parsing the rest."""

from __future__ import annotations


def cut_field(raw: bytes, number: int) -> tuple[bytes | None, bytes]:
    """Cut the first length-delimited field `number` out of a message whose fields come in order.

    Returns the field's payload (None when it is not there, or not in order) and the bytes without it.
    Malformed bytes are returned whole: the parser that follows says what is wrong with them.
    """
    position, end = 0, len(raw)
    while position < end:
        start = position
        tag, position = _varint(raw, position)
        if tag & 7 != 2 or tag >> 3 > number:
            break
        length, position = _varint(raw, position)
        stop = position + length
        if position < 0 or stop > end:
            break
        if tag >> 3 == number:
            return raw[position:stop], raw[:start] + raw[stop:]
        position = stop
    return None, raw


def _varint(raw: bytes, position: int) -> tuple[int, int]:
    """Read a varint; a position beyond the end tells the caller that the bytes ran out."""
    value = shift = 0
    for index in range(position, min(position + 10, len(raw))):
        byte = raw[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, index + 1
        shift += 7
    return 0, len(raw) + 1

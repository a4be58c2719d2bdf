"""Objects of which the status counts, too: as declared, and as they are said to be. Pure."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from k8s_source.kinds.items import Declared, ItemDecoder


class Stated(NamedTuple):
    """An object, or what is wrong with it, and the `status` that it has (JSON; empty where it has none)."""

    declared: Declared
    status: bytes


class _Status(msgspec.Struct, frozen=True):
    status: msgspec.Raw = msgspec.Raw()


class StatedDecoder:
    """Decodes objects of one kind with their status. The status is kept as it is: it has no part in derivation."""

    def __init__(self, decode: ItemDecoder) -> None:
        self._decode = decode
        self._status = msgspec.json.Decoder(_Status).decode

    def __call__(self, raw: bytes) -> Stated:
        """Decode one object.

        Raises:
            msgspec.DecodeError: This is not JSON of an object.
        """
        return Stated(self._decode(raw), bytes(self._status(raw).status))

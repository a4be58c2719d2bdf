"""Which parts of a message are worth walking into: type by type, remembered, so that big messages cost little."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from google.protobuf.descriptor import Descriptor


class Reach:
    """Knows for each message type the fields below which something wanted can occur.

    `wanted` picks message types; the types named in `closed` are neither wanted nor entered.
    """

    def __init__(self, wanted: Callable[[Descriptor], bool], closed: frozenset[str] = frozenset()) -> None:
        self._wanted = wanted
        self._closed = closed
        self.fields = cache(self._fields)
        self.reaches = cache(self._reaches)

    def _fields(self, descriptor: Descriptor) -> frozenset[int]:
        """The numbers of the fields of message type that lead to something wanted."""
        return frozenset(
            field.number
            for field in descriptor.fields
            if field.message_type is not None and self.reaches(field.message_type)
        )

    def _reaches(self, descriptor: Descriptor) -> bool:
        """Whether a type is wanted, or one that it can contain is. Types may contain themselves."""
        seen: set[str] = set()
        todo = [descriptor]
        while todo:
            each = todo.pop()
            if each.full_name in seen or each.full_name in self._closed:
                continue
            if self._wanted(each):
                return True
            seen.add(each.full_name)
            todo += [field.message_type for field in each.fields if field.message_type is not None]
        return False

"""Reads YAML into plain values straight from libyaml's events, which also tell each line.

A tree of nodes and marks would take several times as long. Only what JSON can say comes through: string keys, no
tags but the core schema's, no key twice, and no more copies by aliases than an honest file needs. Errors repeat
nothing of the text but keys that look like names: it may hold secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any as Anything

from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from xds_server.sources.files.document import DEEPEST, ITEMS, LISTED, Document, SyntaxFaultError, twice
from xds_server.sources.files.scalars import is_collection_tag, not_allowed, plain, tagged

MOST_ALIASED = 1_000_000
"""Values that the aliases of one document may stand for in all ("billion laughs")."""

_NO_KEY = object()
_QUOTED = re.compile(r"""(['"])(?!<|-|\?|:|%)[^'"]{2,}\1""")
_NO_ANCHOR = "an alias without a finished anchor before it; a text that begins with * needs quotes"


def read_yaml(text: str) -> Iterator[Document]:
    """The documents of a YAML stream in order, empty ones included (their value is None).

    Raises:
        SyntaxFaultError: It is no YAML, or uses what is not allowed here.
    """
    number = 0
    builder: _Builder | None = None
    try:
        # Not by `YAML`: it makes a class for each text, which refers to itself and so holds the text for long.
        parser = CParser(text)
        while parser.check_event():
            event = parser.get_event()
            if builder is not None and not isinstance(event, DocumentEndEvent):
                builder.take(event)
            elif isinstance(event, DocumentStartEvent):
                number += 1
                builder = _Builder(number)
            elif builder is not None:
                yield builder.document()
                builder = None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SyntaxFaultError(_sentence(error), mark.line + 1, mark.column + 1, number) from None
    except YAMLError as error:
        raise _unreadable(text, error) from None


class _Frame:
    """A mapping or list that is being filled. `size` counts the values in it, aliased ones as often as they occur."""

    __slots__ = ("anchor", "key", "mapping", "sequence", "size")

    def __init__(self, mapping: dict[str, object] | None, sequence: list[object], anchor: str | None) -> None:
        self.mapping = mapping
        self.sequence = sequence
        self.key: object = _NO_KEY
        self.anchor = anchor
        self.size = 1


class _Builder:
    """Makes one document's value out of events."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._line = 0
        self._lines: list[int] = []
        self._value: object = None
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[object, int]] = {}
        self._aliased = 0

    def document(self) -> Document:
        return Document(self._number, self._line, self._value, tuple(self._lines))

    def take(self, event: Anything) -> None:
        kind = type(event)
        if kind is ScalarEvent:
            self._scalar(event)
        elif kind is MappingStartEvent:
            self._open(event, _Frame({}, [], event.anchor), "map")
        elif kind is SequenceStartEvent:
            self._open(event, _Frame(None, [], event.anchor), "seq")
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            self._close(event)
        elif kind is AliasEvent:
            self._alias(event)

    def _scalar(self, event: Anything) -> None:
        text: str = event.value
        frame = self._stack[-1] if self._stack else None
        is_key = frame is not None and frame.mapping is not None and frame.key is _NO_KEY
        if event.tag is not None:
            value = self._tagged(event, is_key=is_key)
        else:
            # Keys are strings whatever they look like, as in JSON.
            value = text if is_key or event.style else plain(text)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        self._put(value, 1, event)

    def _tagged(self, event: Anything, *, is_key: bool) -> object:
        try:
            value = tagged(event.value, event.tag)
        except ValueError as error:
            raise self._fault(event, str(error)) from None
        return event.value if is_key else value

    def _open(self, event: Anything, frame: _Frame, kind: str) -> None:
        if event.tag is not None and not is_collection_tag(event.tag, kind):
            raise self._fault(event, not_allowed(event.tag))
        if len(self._stack) >= DEEPEST:
            raise self._fault(event, f"nested deeper than {DEEPEST} levels")
        self._note_line(event)
        self._stack.append(frame)

    def _close(self, event: Anything) -> None:
        frame = self._stack.pop()
        value = frame.sequence if frame.mapping is None else frame.mapping
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (value, frame.size)
        self._put(value, frame.size, event, is_noted=True)

    def _alias(self, event: Anything) -> None:
        found = self._anchors.get(event.anchor)
        if found is None:
            raise self._fault(event, _NO_ANCHOR)
        value, size = found
        self._aliased += size
        if self._aliased > MOST_ALIASED:
            raise self._fault(event, f"the aliases stand for more than {MOST_ALIASED} values")
        self._put(value, size, event)

    def _put(self, value: object, size: int, event: Anything, *, is_noted: bool = False) -> None:
        """Put a finished value where it belongs: as a key, below a key, into a list, or as the document."""
        if not is_noted:
            self._note_line(event)
        if not self._stack:
            self._value = value
            return
        frame = self._stack[-1]
        frame.size += size
        if frame.mapping is None:
            frame.sequence.append(value)
        elif frame.key is _NO_KEY:
            frame.key = self._key(value, frame.mapping, event)
        else:
            frame.mapping[frame.key] = value  # type: ignore[index]  # set below from a str
            frame.key = _NO_KEY

    def _key(self, value: object, mapping: dict[str, object], event: Anything) -> str:
        if not isinstance(value, str):
            raise self._fault(event, "expected a string as a key")
        if value in mapping:
            raise self._fault(event, twice(value))
        return value

    def _note_line(self, event: Anything) -> None:
        """Keep the line where the document starts, and those of the items of its `resources`."""
        depth = len(self._stack)
        if depth == 0:
            self._line = event.start_mark.line + 1
        elif depth == 2 and self._stack[1].mapping is None and self._stack[0].key in (LISTED, ITEMS):  # noqa: PLR2004
            self._lines.append(event.start_mark.line + 1)

    def _fault(self, event: Anything, message: str) -> SyntaxFaultError:
        mark = event.start_mark
        return SyntaxFaultError(message, mark.line + 1, mark.column + 1, self._number)


def _sentence(error: MarkedYAMLError) -> str:
    """What libyaml says; its words are constants, and a quotation of the text, should there be one, is left out."""
    words = ", ".join(str(part) for part in (error.context, error.problem) if part) or "the file is no YAML"
    return _QUOTED.sub("'…'", words)


def _unreadable(text: str, error: Anything) -> SyntaxFaultError:
    """A character that YAML doesn't allow; libyaml tells only its offset in bytes."""
    before = text.encode()[: int(getattr(error, "position", 0))].decode(errors="ignore")
    message = str(getattr(error, "reason", "") or "the file is no YAML")
    return SyntaxFaultError(message, before.count("\n") + 1, len(before) - before.rfind("\n"))

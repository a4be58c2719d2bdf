"""Where in a file a field stands, for errors as compilers give them. Asked only once there is an error to report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any as Anything

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from xds_server.ir.problem import Problem

Place = tuple[int, int]
"""(line, column), both from 1; (0, 0) where it is not known."""

NOWHERE: Place = (0, 0)

_SEGMENT = re.compile(r'\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.\[]+)')


class _Wanted:
    """A node of the tree of paths that are looked for."""

    __slots__ = ("below", "place")

    def __init__(self) -> None:
        self.below: dict[str | int, _Wanted] = {}
        self.place = NOWHERE


def locate(text: str, document: int, field: str) -> Place:
    """Where a field such as `resources[3].name` stands in a document (numbered from 1) of a YAML or JSON text.

    A key's place stands for its value. Where the path ends early, since a field is missing or an alias stands in
    its place, it is the place of what there is.
    """
    return locate_all(text, [(document, field)])[0]


def locate_all(text: str, fields: Sequence[tuple[int, str]]) -> list[Place]:
    """The places of many fields, each given as (document, path), in one pass over the text."""
    documents: dict[int, _Wanted] = {}
    for document, field in fields:
        node = documents.setdefault(document, _Wanted())
        for segment in _segments(field):
            node = node.below.setdefault(segment, _Wanted())
    with suppress(YAMLError):  # what was found before an error still holds
        _scan(text, documents)
    return [_deepest(documents[document], field) for document, field in fields]


def places(problems: Sequence[Problem]) -> list[Place]:
    """Where each problem's field stands, read from the files that the problems name.

    A problem without a field, or whose file can't be read any more, keeps the line of its origin.
    """
    found = [(problem.origin.line, 1) if problem.origin.line else NOWHERE for problem in problems]
    files: dict[str, list[int]] = {}
    for index, problem in enumerate(problems):
        if problem.field and problem.origin.path and problem.origin.document:
            files.setdefault(problem.origin.path, []).append(index)
    for path, indexes in files.items():
        fields = [(problems[index].origin.document, problems[index].field) for index in indexes]
        for index, place in zip(indexes, _places_in(path, fields), strict=True):
            found[index] = found[index] if place == NOWHERE else place
    return found


def _places_in(path: str, fields: Sequence[tuple[int, str]]) -> list[Place]:
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return [NOWHERE] * len(fields)
    return locate_all(text, fields)


def _segments(field: str) -> Iterator[str | int]:
    for index, quoted, word in _SEGMENT.findall(field):
        yield int(index) if index else json.loads(quoted) if quoted else word


def _deepest(node: _Wanted, field: str) -> Place:
    place = node.place
    for segment in _segments(field):
        node = node.below[segment]
        if node.place == NOWHERE:
            break
        place = node.place
    return place


def _scan(text: str, documents: dict[int, _Wanted]) -> None:
    events: Iterator[Anything] = YAML(typ="safe").parse(text)
    number = 0
    for event in events:
        if isinstance(event, DocumentStartEvent):
            number += 1
            wanted = documents.get(number)
            first = next(events)
            if wanted is not None:
                wanted.place = _place(first)
            _value(first, events, wanted)
            if number == max(documents):
                return


def _value(event: Anything, events: Iterator[Anything], wanted: _Wanted | None) -> None:
    """Go through one value, of which `event` is the first, to its end."""
    if wanted is None or not wanted.below:
        _pass_by(event, events)
    elif isinstance(event, MappingStartEvent):
        _mapping(events, wanted)
    elif isinstance(event, SequenceStartEvent):
        _sequence(events, wanted)


def _mapping(events: Iterator[Anything], wanted: _Wanted) -> None:
    while not isinstance(key := next(events), MappingEndEvent):
        found = wanted.below.get(key.value) if isinstance(key, ScalarEvent) else None
        if found is not None:
            found.place = _place(key)
        _pass_by(key, events)
        _value(next(events), events, found)


def _sequence(events: Iterator[Anything], wanted: _Wanted) -> None:
    index = 0
    while not isinstance(item := next(events), SequenceEndEvent):
        found = wanted.below.get(index)
        if found is not None:
            found.place = _place(item)
        _value(item, events, found)
        index += 1


def _pass_by(event: Anything, events: Iterable[Anything]) -> None:
    """Skip the rest of a value of which `event` is the first."""
    if not isinstance(event, MappingStartEvent | SequenceStartEvent):
        return
    open_ones = 1
    for each in events:
        if isinstance(each, MappingStartEvent | SequenceStartEvent):
            open_ones += 1
        elif isinstance(each, MappingEndEvent | SequenceEndEvent):
            open_ones -= 1
            if not open_ones:
                return


def _place(event: Anything) -> Place:
    return event.start_mark.line + 1, event.start_mark.column + 1

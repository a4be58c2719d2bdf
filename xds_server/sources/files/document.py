"""What the YAML and the JSON reader have in common: the documents they yield and the error they raise."""

from __future__ import annotations

import re
from dataclasses import dataclass

LISTED = "resources"
"""The key of the list in Envoy's file form; the lines of its items are kept."""

ITEMS = "items"
"""The key of the list in a `List` of manifests, as `kubectl get -o yaml` prints it; in YAML its lines are kept, too."""

DEEPEST = 200
"""Levels of nesting that are read; Envoy's own messages stay far below."""

_NAME = re.compile(r"(?=.{1,40}$)@?[A-Za-z]+\d?([_.-][A-Za-z]+\d?)*")


def is_name(key: str) -> bool:
    """Whether a key can be repeated in an error: it looks like a name, and not like a piece of a secret."""
    return _NAME.fullmatch(key) is not None


def twice(key: str) -> str:
    """Say that a key occurs twice."""
    return f"{f'the key {key!r}' if is_name(key) else 'a key'} occurs twice in one mapping"


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: its number and first line, both from 1, and its value as plain Python.

    `lines` are those of the items of its top-level list `resources`, or `items`.
    """

    number: int
    line: int
    value: object
    lines: tuple[int, ...] = ()


class SyntaxFaultError(ValueError):
    """A file that can't be read as YAML or JSON; `line` and `column` count from 1, 0 where there is no place."""

    def __init__(self, message: str, line: int = 0, column: int = 0, document: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.document = document

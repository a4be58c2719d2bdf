"""Problems of documents from files tell the line of the field that is wrong."""

from __future__ import annotations

import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from xds_server.ir.declared import Declared
from xds_server.ir.problem import Problem, ProblemError
from xds_server.sources.files.positions import locate

Made = TypeVar("Made")

MOST_SECONDS = 1.0
"""Time spent on one state of one file: of thousands of errors the later ones keep the line of their document."""

_MARKER = re.compile(r"^---(?=\s|$)", re.MULTILINE)
"""Begins a document of YAML, even inside of a text (YAML 1.2.2, section 9.1.2)."""


@dataclass(slots=True)
class _File:
    """A file as it was read last: its text, where each line and each document begins, and the time spent on it."""

    state: tuple[str, int, int]
    text: str
    lines: list[int]
    markers: list[int]
    spent: float = 0.0


class Locator:
    """Finds lines. The file is read again, which is rare since errors are; for one thread."""

    def __init__(self) -> None:
        self._last: _File | None = None

    def __call__(self, problem: Problem) -> Problem:
        """The problem with the line of its field, as far as that can be told."""
        origin = problem.origin
        if not (problem.field and origin.path and origin.line):
            return problem
        try:
            file = self._file(origin.path)
        except (OSError, UnicodeDecodeError):
            return problem
        if file.spent > MOST_SECONDS:
            return problem
        started = time.monotonic()
        line = _line(file, problem)
        file.spent += time.monotonic() - started
        # What is before the document, or the item of a list, comes from a file that has changed meanwhile.
        return replace(problem, origin=replace(origin, line=line)) if line > origin.line else problem

    def _file(self, path: str) -> _File:
        status = Path(path).stat()
        state = (path, status.st_mtime_ns, status.st_size)
        if self._last is None or self._last.state != state:
            text = Path(path).read_text("utf-8-sig")
            lines = [0, *(found.end() for found in re.finditer("\n", text))]
            is_json = path.lower().endswith(".json")
            markers = [] if is_json else [found.start() for found in _MARKER.finditer(text)]
            self._last = _File(state, text, lines, markers)
        return self._last


class Locating(Generic[Made]):
    """A decoder around another one: makes what `decode` makes."""

    def __init__(self, decode: Callable[[Declared], Made], locate: Callable[[Problem], Problem]) -> None:
        self._decode = decode
        self._locate = locate

    def __call__(self, document: Declared) -> Made:
        """Decode a document.

        Raises:
            ProblemError: As the decoder does, with the line of the field as far as it can be told.
        """
        try:
            return self._decode(document)
        except ProblemError as error:
            raise ProblemError(self._locate(error.problem)) from None


def _line(file: _File, problem: Problem) -> int:
    """The line of a problem's field, 0 when it is not found. Of YAML only the document in question is read."""
    origin = problem.origin
    if not file.markers:
        return locate(file.text, origin.document, problem.field)[0]
    at = file.lines[min(origin.line, len(file.lines)) - 1]
    index = bisect_right(file.markers, at)
    start = file.markers[index - 1] if index else 0
    end = file.markers[index] if index < len(file.markers) else len(file.text)
    found = locate(file.text[start:end], 1, problem.field)[0]
    return found + bisect_left(file.lines, start) if found else 0

"""`tidegate validate`: what is wrong with files, told as a compiler does."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from xds_server.cli.inputs import Inputs, read
from xds_server.cli.text import clean
from xds_server.ir.problem import Problem
from xds_server.sources.files import places

_WIDTH = 160
"""Letters of a source line that are shown."""

_SECRET = re.compile(
    r"private.?key|pkcs12|password|secret|token|credential|users|\bkeys\b|inline.?(?:string|bytes)|[\w+/=-]{32,}",
    re.IGNORECASE,
)
"""Lines that may hold a secret are not shown: the output of a check ends up in logs."""

_COLUMN = re.compile(r"column (\d+): ")
"""How the message of a syntax error begins."""


def validate(paths: Sequence[Path]) -> int:
    """Check files and print what is wrong, then a summary. Gives the exit code."""
    inputs = read(paths)
    report(inputs.problems, sys.stdout)
    print(summary(inputs))
    return 1 if inputs.problems else 0


def report(problems: Sequence[Problem], out: TextIO) -> None:
    """Print each problem with its place, and the line of the file that it is about."""
    sources = _Sources()
    for problem, place in zip(problems, places(problems), strict=True):
        for text in _described(problem, *place, sources):
            print(text, file=out)


def summary(inputs: Inputs) -> str:
    """One line: what was read, what of it would be served, and how much is wrong."""
    resources = sum(len(typeset) for snapshot in inputs.groups.values() for typeset in snapshot.types.values())
    groups = _number(len(inputs.groups), "group")
    errors = _number(len(inputs.problems), "error") if inputs.problems else "no errors"
    return f"{_number(inputs.files, 'file')}, {_number(resources, 'resource')} in {groups}, {errors}"


class _Sources:
    """Lines of files; a file is read once for all that is wrong with it."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def line(self, path: str, number: int) -> str:
        """A line by its number from 1; "" when there is none, or no such file any more."""
        if not path or not number:
            return ""
        if path not in self._files:
            self._files[path] = self._read(path)
        lines = self._files[path]
        return lines[number - 1].rstrip("\r") if number <= len(lines) else ""

    @staticmethod
    def _read(path: str) -> list[str]:
        try:
            return Path(path).read_text("utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError):
            return []


def _described(problem: Problem, line: int, column: int, sources: _Sources) -> Iterator[str]:
    message = problem.message
    if line < problem.origin.line:  # of the document, not of the object in it
        line, column = problem.origin.line, 1
    syntax = _COLUMN.match(message)
    if syntax and not problem.field:
        column, message = int(syntax[1]), message[syntax.end() :]
    source = sources.line(problem.origin.path, line)
    if column == 1:
        column += len(source) - len(source.lstrip())
    where = problem.origin.path or str(problem.origin)
    place = ":".join([where, *(str(number) for number in (line, column) if number)])
    field = f"{problem.field}: " if problem.field else ""
    yield clean(f"{place}: error: {field}{message}")
    if source and column and column <= _WIDTH and not _SECRET.search(source):
        yield f"    {clean(source[:_WIDTH])}"
        yield f"    {' ' * len(clean(source[: column - 1]))}^"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"

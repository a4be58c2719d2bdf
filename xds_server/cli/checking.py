"""`tidegate validate`: what is wrong with files, told as a compiler does."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from xds_server.cli.excerpts import Excerpts
from xds_server.cli.inputs import Inputs, read
from xds_server.cli.text import clean
from xds_server.ir.problem import Problem
from xds_server.sources.files import places

_WIDTH = 160
"""Letters of a source line that are shown."""

_COLUMN = re.compile(r"column (\d+): ")
"""How the message of a syntax error begins."""


def validate(paths: Sequence[Path]) -> int:
    """Check files and print what is wrong, then a summary. Gives the exit code."""
    inputs = read(paths)
    report(inputs, sys.stdout)
    print(summary(inputs))
    return 1 if inputs.problems else 0


def report(inputs: Inputs, out: TextIO) -> None:
    """Print each problem with its place, and the line of the file that it is about."""
    excerpts = Excerpts()
    for problem, place in zip(inputs.problems, places(inputs.problems), strict=True):
        for text in _described(problem, *place, excerpts, several=problem.origin.path in inputs.several):
            print(text, file=out)


def summary(inputs: Inputs) -> str:
    """One line: what was read, what of it would be served, and how much is wrong."""
    resources = sum(len(typeset) for snapshot in inputs.groups.values() for typeset in snapshot.types.values())
    groups = _number(len(inputs.groups), "group")
    errors = _number(len(inputs.problems), "error") if inputs.problems else "no errors"
    return f"{_number(inputs.files, 'file')}, {_number(resources, 'resource')} in {groups}, {errors}"


def _described(problem: Problem, line: int, column: int, excerpts: Excerpts, *, several: bool) -> Iterator[str]:
    message, origin = problem.message, problem.origin
    if line < origin.line:  # of the document, not of the object in it
        line, column = origin.line, 1
    syntax = _COLUMN.match(message) if not problem.field else None
    if syntax:
        column, message = int(syntax[1]), message[syntax.end() :]
    source = excerpts.line(origin.path, line)
    if column == 1:
        column += len(source) - len(source.lstrip())
    place = ":".join([origin.path or str(origin), *(str(number) for number in (line, column) if number)])
    several = several or (syntax is not None and excerpts.has_more(origin.path, line))
    document = f"document {origin.document}: " if several and origin.document else ""
    field = f"{problem.field}: " if problem.field else ""
    yield clean(f"{place}: error: {document}{field}{message}")
    if column and column <= _WIDTH and excerpts.may_show(origin.path, line, whole=problem.reason == "InvalidSyntax"):
        yield f"    {clean(source[:_WIDTH])}"
        yield f"    {' ' * len(clean(source[: column - 1]))}^"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"

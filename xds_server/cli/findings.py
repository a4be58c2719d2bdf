"""Problems as findings: each with the place of its field, and the line of the file where that may be shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from xds_server.cli.excerpts import Excerpts
from xds_server.cli.text import clean
from xds_server.ir.problem import Problem
from xds_server.sources.files import places

_WIDTH = 160
"""Letters of a source line that are shown."""

_COLUMN = re.compile(r"column (\d+): ")
"""How the message of a syntax error begins."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One error: `line`, `column` and `document` count from 1, 0 where there is none.

    `excerpt` is the source line, "" where it may not be shown; `several` tells that the file has more documents.
    """

    path: str
    line: int
    column: int
    document: int
    field: str
    reason: str
    message: str
    excerpt: str = ""
    several: bool = False

    def lines(self) -> Iterator[str]:
        """Say it as a compiler does: place and message, then the line and a caret."""
        place = ":".join([self.path, *(str(number) for number in (self.line, self.column) if number)])
        document = f"document {self.document}: " if self.several and self.document else ""
        field = f"{self.field}: " if self.field else ""
        yield clean(f"{place}: error: {document}{field}{self.message} [{self.reason}]")
        if self.excerpt:
            yield f"    {clean(self.excerpt[:_WIDTH])}"
            yield f"    {' ' * len(clean(self.excerpt[: self.column - 1]))}^"

    def values(self) -> dict[str, object]:
        """Say it to a program."""
        return {
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "document": self.document,
            "field": self.field,
            "reason": self.reason,
            "message": self.message,
        }


def findings(problems: Sequence[Problem], several: Collection[str]) -> list[Finding]:
    """The findings of problems in the order of files and places; `several` are the paths with many documents."""
    excerpts = Excerpts()
    found = [
        _finding(problem, *place, excerpts, several=problem.origin.path in several)
        for problem, place in zip(problems, places(problems), strict=True)
    ]
    return sorted(found, key=lambda each: (each.path, each.line, each.column))


def _finding(problem: Problem, line: int, column: int, excerpts: Excerpts, *, several: bool) -> Finding:
    message, origin = problem.message, problem.origin
    if line < origin.line:  # of the document, not of the object in it
        line, column = origin.line, 1
    syntax = _COLUMN.match(message) if not problem.field else None
    if syntax:
        column, message = int(syntax[1]), message[syntax.end() :]
    source = excerpts.line(origin.path, line)
    if column == 1:
        column += len(source) - len(source.lstrip())
    whole = problem.reason == "InvalidSyntax"
    is_shown = 0 < column <= _WIDTH and excerpts.may_show(origin.path, line, whole=whole)
    return Finding(
        path=origin.path or str(origin),
        line=line,
        column=column,
        document=origin.document,
        field=problem.field,
        reason=problem.reason,
        message=message,
        excerpt=source if is_shown else "",
        several=several or (syntax is not None and excerpts.has_more(origin.path, line)),
    )

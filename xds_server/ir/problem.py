"""What is wrong with an input: one value for every kind of bad input, from broken YAML to a dangling name."""

from __future__ import annotations

from dataclasses import dataclass

from xds_server.ir.origin import Origin


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in what was declared: the object (by its origin), the field, what was found and expected.

    `reason` is a CamelCase word for programs, `message` a sentence for people, `field` a path such as
    `resources[3].load_assignment.endpoints[0]` ("" where the whole document is meant).
    """

    origin: Origin
    reason: str
    message: str
    field: str = ""

    def __str__(self) -> str:
        """Say it in one line: where, which field, what."""
        where = str(self.origin)
        if self.origin.document:
            where += f" (document {self.origin.document})"
        return f"{where}: {self.field + ': ' if self.field else ''}{self.message}"


class ProblemError(ValueError):
    """Raised inside a decoder to leave it; carries the `Problem` that the caller reports."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem

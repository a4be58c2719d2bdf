"""What happens, as log lines: versions with what they leave out, refusals, and every problem of a source."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Protocol

import structlog

from xds_server.ir.events import Event, EventKind
from xds_server.ir.problem import Problem

MOST = 50
"""Lines of one kind that one event makes; of the rest only the number is told."""

_OF_DEGRADATION = ("route", "group", "decision", "reason", "backend", "lag", "threshold", "state", "watches", "version")

log = structlog.get_logger(__name__)


class LeftOut(Protocol):
    """A declared resource that is not served as declared."""

    @property
    def type_url(self) -> str:
        """Its type URL."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def reason(self) -> str:
        """Why, as a CamelCase word."""

    @property
    def message(self) -> str:
        """Why, as a sentence."""


class EventLog:
    """Writes events; of what stands for long it writes each thing once, when it is new.

    `problems` gives the standing problems of a source by its name, `left_out` what the current snapshot of a group
    leaves out.
    """

    def __init__(
        self, problems: Callable[[str], Sequence[Problem]], left_out: Callable[[str], Sequence[LeftOut]]
    ) -> None:
        self._problems = problems
        self._left_out = left_out
        self._told: dict[tuple[EventKind, str], frozenset[Hashable]] = {}

    def write(self, event: Event) -> None:
        """Log one event."""
        data = event.data
        if event.kind is EventKind.VERSION:
            log.info("published", **data)
            self._write_left_out(str(data["group"]))
        elif event.kind is EventKind.NACK:
            log.warning("refused", **{**data, "culprit": _places(data.get("culprit"))})
        elif event.kind is EventKind.SOURCE:
            log.info("source", source=data["source"], synced=data["synced"], errors=self._write_problems(data))
        elif event.kind is EventKind.DEGRADATION:
            told = {key: data[key] for key in _OF_DEGRADATION}
            if data["decision"] == "primary":
                log.info("recovered", **told)
            else:
                log.warning("degradation", **told)
        else:
            log.debug(event.kind.value, **data)

    def _write_left_out(self, group: str) -> None:
        found: dict[Hashable, dict[str, object]] = {
            (each.type_url, each.name, each.reason, each.message): {
                "type": each.type_url.rpartition(".")[2],
                "name": each.name,
                "reason": each.reason,
                "message": each.message,
            }
            for each in self._left_out(group)
        }
        for line in self._new((EventKind.VERSION, group), found):
            log.warning("left_out", group=group, **line)

    def _write_problems(self, data: Mapping[str, object]) -> int:
        source = str(data["source"])
        found: dict[Hashable, dict[str, object]] = {each: _line(each) for each in self._problems(source)}
        for line in self._new((EventKind.SOURCE, source), found):
            log.error("source_problem", source=source, **line)
        return len(found)

    def _new(
        self, what: tuple[EventKind, str], found: Mapping[Hashable, Mapping[str, object]]
    ) -> Iterable[Mapping[str, object]]:
        """The lines of what was not told before; what is gone and comes again is new."""
        told = self._told.get(what, frozenset())
        self._told[what] = frozenset(found)
        fresh = [line for key, line in found.items() if key not in told]
        more = [{"more": len(fresh) - MOST}] if len(fresh) > MOST else []
        return [*fresh[:MOST], *more]


def _places(culprit: object) -> list[str]:
    """Origins of an event as a compiler says them: `file:line`, else what they are."""
    found = [each for each in culprit if isinstance(each, Mapping)] if isinstance(culprit, Sequence) else []
    return [
        f"{each['path']}:{each['line']}" if each["path"] else f"{each['kind']}/{each['namespace']}/{each['name']}"
        for each in found
    ]


def _line(problem: Problem) -> dict[str, object]:
    origin = problem.origin
    return {
        "path": origin.path,
        "document": origin.document,
        "line": origin.line,
        "object": origin.identity,
        "field": problem.field,
        "reason": problem.reason,
        "message": problem.message,
    }

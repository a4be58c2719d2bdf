"""What is remembered of routes, on disk: verdicts and decisions in one file of JSON, written whole."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from xds_server.ir.decision import Decision
from xds_server.ir.facts import Conclusion, RouteKey
from xds_server.snapshot.history.last_good import Fault, set_aside
from xds_server.snapshot.history.segments import write_whole
from xds_server.snapshot.history.writer import Writer

_FORM = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """What is remembered of one route, None for what never was.

    `decision` is what was decided last, at `since` (POSIX seconds), `good` the last decision that led to a healthy backend.
    """

    conclusion: Conclusion | None = None
    decision: Decision | None = None
    since: float = 0.0
    good: Decision | None = None


class _Record(msgspec.Struct, frozen=True):
    route: RouteKey
    kept: Kept


class _Content(msgspec.Struct, frozen=True):
    form: int
    routes: list[_Record]


class DecisionFile:
    """Holds what is remembered, and has it written some time after each change."""

    def __init__(self, path: Path, failed: Callable[[OSError], None]) -> None:
        """Read what is there. Blocks.

        Raises:
            OSError: It can't be read.
        """
        self.faults: list[Fault] = []
        self._path = path
        self._kept: dict[RouteKey, Kept] = {}
        self._lock = threading.Lock()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._read()
        self.restored = dict(self._kept)
        self.writer: Writer[RouteKey] = Writer(self._write, failed, path)

    def keep(self, route: RouteKey, kept: Kept | None) -> None:
        """Remember that of a route (None: nothing); to be called on the event loop."""
        with self._lock:
            if self._kept.get(route) == kept:
                return
            if kept is None:
                del self._kept[route]
            else:
                self._kept[route] = kept
        self.writer.add(route)

    def _write(self, _changed: Sequence[RouteKey]) -> None:
        with self._lock:  # for a moment: the event loop waits for it
            found = list(self._kept.items())
        records = [_Record(route, kept) for route, kept in found]
        write_whole(self._path, msgspec.json.encode(_Content(_FORM, records)))

    def _read(self) -> None:
        try:
            content = msgspec.json.decode(self._path.read_bytes(), type=_Content)
        except FileNotFoundError:
            return
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self.faults.append(set_aside(self._path, f"{error}; verdicts and decisions begin anew"))
            return
        if content.form != _FORM:
            why = f"its form is {content.form}, not {_FORM}; verdicts and decisions begin anew"
            self.faults.append(set_aside(self._path, why))
            return
        self._kept = {record.route: record.kept for record in content.routes}

"""A feed: what one source has said so far and how it fares; the pipeline's end of the Source protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xds_server.ir.declared import Unit
from xds_server.ir.problem import Problem


@dataclass(frozen=True, slots=True)
class SourceReport:
    """How a source fares: `objects` counts what it declares by kind, `problems` are its standing errors.

    `up` means that all it has was handed over once and that it can be read now.
    """

    name: str
    kind: str
    synced: bool
    up: bool
    last_sync: float
    objects: Mapping[str, int]
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class Feed:
    """The sink of one source: gathers what it hands over until the pipeline takes it.

    `problems` and `objects` are what the pipeline made of it: the standing errors, and the counts by kind.
    """

    name: str
    kind: str
    wake: Callable[[], None]
    clock: Callable[[], float]
    is_synced: bool = False
    last_sync: float = 0.0
    failure: Problem | None = None
    problems: list[Problem] = field(default_factory=list)
    objects: Mapping[str, int] = field(default_factory=dict)
    _units: dict[str, Unit | None] = field(default_factory=dict)

    def replace(self, units: Sequence[Unit], removed: Sequence[str] = ()) -> None:
        """See `Sink.replace`: of a place that speaks twice before it is heard, the last word counts."""
        self._units.update((unit.key, unit) for unit in units)
        self._units.update(dict.fromkeys(removed))
        self.last_sync = self.clock()
        self.wake()

    def synced(self) -> None:
        """See `Sink.synced`."""
        self.is_synced = True
        self.last_sync = self.clock()
        self.wake()

    def failed(self, problem: Problem) -> None:
        """See `Sink.failed`."""
        self.failure = problem
        self.wake()

    def recovered(self) -> None:
        """See `Sink.recovered`."""
        self.failure = None
        self.wake()

    def take(self) -> dict[str, Unit | None]:
        """All that was handed over since the last call: unit by key, None for a place that is gone."""
        taken, self._units = self._units, {}
        return taken

    def put_back(self, units: Mapping[str, Unit | None]) -> None:
        """Give back what was taken and could not be taken in: it is taken again, but where there is newer by then."""
        self._units = {**units, **self._units}

    def report(self) -> SourceReport:
        """How the source fares now; its own failure comes before those of its places."""
        own = () if self.failure is None else (self.failure,)
        up = self.is_synced and self.failure is None
        problems = (*own, *self.problems)
        return SourceReport(self.name, self.kind, self.is_synced, up, self.last_sync, self.objects, problems)

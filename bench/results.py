"""Results: the trials of each shape, and the other measurements, as one JSON file from which page and plots are made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from bench.churn import Churned
from bench.derived import Derived
from bench.flat import Cost
from bench.kept import Kept
from bench.kubernetes import Followed
from bench.lag import Sampled
from bench.probe import Hold
from bench.trial import Figure, Trial

FILE = Path(__file__).with_name("results.json")
"""The measurements that `docs/performance.md` shows."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One figure of one contender over the rounds: median, least and most; whether the machine was always calm."""

    median: float
    low: float
    high: float
    calm: bool


class Measured(msgspec.Struct):
    """The trials of one shape (`title` in words), and the day (ISO 8601) they were run on."""

    title: str
    day: str
    trials: list[Trial]

    def summary(self, contender: str, figure: Figure) -> Summary | None:
        """The figure of a contender, None where it was not measured."""
        trials = [trial for trial in self.trials if trial.contender == contender and figure in trial.figures]
        if not trials:
            return None
        values = [trial.figures[figure] for trial in trials]
        return Summary(median(values), min(values), max(values), all(trial.calm for trial in trials))

    def contenders(self) -> list[str]:
        """Who was measured, in the order of the first round."""
        return list(dict.fromkeys(trial.contender for trial in self.trials))

    def best_peer(self, figure: Figure) -> Summary | None:
        """The peer's figure that is hardest to beat: the least."""
        found = [self.summary(peer, figure) for peer in self.contenders() if peer != "tidegate"]
        return min((each for each in found if each is not None), key=lambda each: each.median, default=None)

    def ratio(self, figure: Figure) -> float | None:
        """Tidegate's figure by that of the best peer, None where one of them is missing."""
        ours, best = self.summary("tidegate", figure), self.best_peer(figure)
        return ours.median / best.median if ours and best and best.median else None


class Results(msgspec.Struct):
    """Everything that was measured on one machine; the days tell when the parts without trials were."""

    machine: str = ""
    shapes: dict[str, Measured] = msgspec.field(default_factory=dict)
    flat: list[Cost] = msgspec.field(default_factory=list)
    kept: list[Kept] = msgspec.field(default_factory=list)
    probe: list[Hold] = msgspec.field(default_factory=list)
    churn: list[Churned] = msgspec.field(default_factory=list)
    derived: list[Derived] = msgspec.field(default_factory=list)
    lag: list[Sampled] = msgspec.field(default_factory=list)
    kubernetes: list[Followed] = msgspec.field(default_factory=list)
    days: dict[str, str] = msgspec.field(default_factory=dict)

    def update(self, newer: Results) -> None:
        """Take over what was measured anew; what was not stays."""
        self.machine = newer.machine or self.machine
        self.shapes.update(newer.shapes)
        self.flat, self.kept = newer.flat or self.flat, newer.kept or self.kept
        self.probe, self.churn = newer.probe or self.probe, newer.churn or self.churn
        self.derived, self.lag = newer.derived or self.derived, newer.lag or self.lag
        self.kubernetes = newer.kubernetes or self.kubernetes
        self.days.update(newer.days)


def load(path: Path = FILE) -> Results:
    """The stored results, empty ones where there are none."""
    return msgspec.json.decode(path.read_bytes(), type=Results) if path.exists() else Results()


def store(results: Results, path: Path = FILE) -> None:
    """Write results for good, readable in a diff."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")

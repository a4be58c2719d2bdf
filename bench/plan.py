"""What one run measures: which loads, with which servers, how big and how often."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench import churn, derived, flat, kept, kubernetes, lag, probe, rounds
from bench.contenders import NAIVE, PYTHON_GENERATOR, TIDEGATE, Contender, go_generator, go_peers
from bench.gobuild import GoTools
from bench.machine import choose_cores, describe
from bench.results import Results
from bench.shapes import AGAINST_GO, AGAINST_NAIVE, GROWTH, Shape, quick
from bench.trial import Bench

PARTS = ("flat", "derived", "lag", "kept", "probe", "churn", "kubernetes")
"""What is measured beside the loads."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How big things are."""

    rounds: int
    growth_rounds: int
    flat_clusters: Sequence[int]
    flat_changes: int
    probe_clusters: int
    probe_times: int
    churn_streams: int
    churn_seconds: float
    clusters: Sequence[tuple[int, int]]


FULL = Sizes(5, 1, flat.SIZES, 50, 10_000, 5, 1000, 60.0, kubernetes.SIZES)
WITHOUT_GO = Sizes(2, 1, flat.SIZES, 20, 10_000, 1, 100, 10.0, kubernetes.SIZES)
QUICK = Sizes(1, 1, (100, 1000), 5, 1000, 1, 20, 5.0, ((100, 20),))

_RATE = 100.0


@dataclass(frozen=True, slots=True)
class Plan:
    """A run, ready to go. `only` are keys of loads (or how they begin) and parts; empty means everything."""

    bench: Bench
    contenders: Sequence[Contender]
    shapes: Sequence[Shape]
    growth: Sequence[Shape]
    sizes: Sizes
    only: Sequence[str]

    def run(self) -> Results:
        """Measure all of it.

        Raises:
            StartError: a server does not come up.
            LoadError: a generator fails.
        """
        found = Results(machine=describe())
        for shapes, times in ((self.shapes, self.sizes.rounds), (self.growth, self.sizes.growth_rounds)):
            wanted = [shape for shape in shapes if self._wants(shape.key)]
            found.shapes.update(rounds.run(self.bench, wanted, self.contenders, times))
        for part, measure in self._parts().items():
            if self._wants(part):
                print(f"measuring: {part}", file=sys.stderr, flush=True)
                setattr(found, part, measure())
                found.days[part] = time.strftime("%Y-%m-%d")
        return found

    def _parts(self) -> dict[str, Callable[[], object]]:
        sizes = self.sizes
        loads = [churn.Load(mode, sizes.churn_streams, _RATE, sizes.churn_seconds) for mode in ("delta", "sotw")]
        return {
            "flat": lambda: flat.measure(sizes.flat_clusters, changes=sizes.flat_changes),
            "derived": lambda: derived.measure(sizes.flat_clusters, changes=sizes.flat_changes),
            "lag": lag.measure,
            "kept": kept.measure,
            "probe": lambda: probe.measure(sizes.probe_clusters, times=sizes.probe_times, patience=self.bench.patience),
            "kubernetes": lambda: kubernetes.measure(sizes.clusters),
            "churn": lambda: [churn.measure(self.bench, load) for load in loads],
        }

    def _wants(self, key: str) -> bool:
        return not self.only or any(key == name or key.startswith(f"{name}-") for name in self.only)


def make(tools: GoTools | None, sizes: Sizes, patience: float, only: Sequence[str]) -> Plan:
    """Plan a run against the Go peer, or without it against the naive server."""
    cores = choose_cores()
    if tools is None:
        bench = Bench(PYTHON_GENERATOR, cores, patience)
        return Plan(bench, (TIDEGATE, NAIVE), _sized(AGAINST_NAIVE, sizes), (), sizes, only)
    bench = Bench(go_generator(tools.generator), cores, patience)
    peers = (TIDEGATE, *go_peers(tools.peer))
    return Plan(bench, peers, _sized(AGAINST_GO, sizes), _sized(GROWTH, sizes), sizes, only)


def _sized(shapes: Sequence[Shape], sizes: Sizes) -> Sequence[Shape]:
    return [quick(shape) for shape in shapes] if sizes is QUICK else shapes

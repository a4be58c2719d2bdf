"""One trial: a server is started, the load of one shape is put on it, and a handful of figures come out."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from statistics import median

import msgspec

from bench.contenders import Contender, Ports, load_flags
from bench.machine import Cores, Neighbours, pinned, wait_calm
from bench.processes import free_port, resident_mib, running
from bench.report import Report
from bench.shapes import Shape

_LIMIT = 900.0


class Figure(StrEnum):
    """What is measured; the value is how it is called in results and tables."""

    CHANGE_CPU = "CPU of a change, ms"
    CHANGE_LAST = "last stream has a change, ms"
    OPEN = "all streams have everything, s"
    OPEN_CPU = "CPU of that, s"
    MEMORY = "memory of a stream, KiB"
    LOST = "streams lost"


class LoadError(RuntimeError):
    """The load generator gave no report."""


class Trial(msgspec.Struct, frozen=True):
    """The figures of one trial; `calm` tells whether the machine was, before it and during it."""

    shape: str
    contender: str
    calm: bool
    figures: dict[Figure, float]


@dataclass(frozen=True, slots=True)
class Bench:
    """How trials are run: the generator's command, the cores, and for how long (s) to try for a calm machine."""

    generator: Sequence[str]
    cores: Cores
    patience: float

    def run(self, contender: Contender, shape: Shape) -> Trial:
        """Run one trial, again if others have disturbed it and patience is left.

        Raises:
            StartError: the server does not come up.
            LoadError: the generator fails.
        """
        end = time.monotonic() + self.patience
        while True:
            calm = wait_calm(end - time.monotonic())
            trial = self._run(contender, shape, calm=calm)
            if trial.calm or time.monotonic() >= end:
                return trial

    def _run(self, contender: Contender, shape: Shape, *, calm: bool) -> Trial:
        ports, neighbours = Ports(free_port(), free_port()), Neighbours()
        with running(contender.command(shape, ports), ports.http, self.cores.server) as pid:
            idle = resident_mib(pid)
            report = self.load(load_flags(shape, ports, pid))
        return Trial(shape.key, contender.key, calm and neighbours.are_calm(), figures_of(report, idle))

    def load(self, flags: Sequence[str]) -> Report:
        """Run the generator with these flags.

        Raises:
            LoadError: it gave no report.
        """
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "report.json"
            with pinned(self.cores.generator):
                process = subprocess.Popen(
                    [*self.generator, *flags, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
                )
            _, words = process.communicate(timeout=_LIMIT)
            if not out.exists():
                raise LoadError(f"the load generator failed:\n{words.decode(errors='replace')[-2000:]}")
            return msgspec.json.decode(out.read_bytes(), type=Report)


def figures_of(report: Report, idle_mib: float) -> dict[Figure, float]:
    """The figures of a report, of the changes the medians; `idle_mib` is the server's memory before any stream."""
    opened = report.open
    figures = {
        Figure.OPEN: opened.all_full_ms / 1000,
        Figure.OPEN_CPU: opened.usage.server_cpu_s,
        Figure.MEMORY: (opened.usage.server_rss_mb - idle_mib) * 1024 / opened.streams,
        Figure.LOST: float(max(opened.streams - opened.full, report.errors)),
    }
    changes = [change for change in report.changes if not change.timed_out]
    if changes:
        figures[Figure.CHANGE_CPU] = median(change.usage.server_cpu_s for change in changes) * 1000
        figures[Figure.CHANGE_LAST] = median(change.last_ms for change in changes)
    return figures

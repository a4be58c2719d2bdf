"""Churn: an endpoint changes 100 times a second, coalesced; how late the slowest stream is, CPU and memory over time."""

from __future__ import annotations

import sys
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from statistics import median

import msgspec

from bench.machine import Neighbours, wait_calm
from bench.processes import cpu_seconds, free_port, resident_mib, running
from bench.report import Report, percentiles
from bench.trial import Bench

_PATIENCE = 60.0
_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Load:
    """What is put on the server: `rate` changes a second for `seconds`.

    Streams are watched for `margin` seconds more: to be all there before it, and to get the last change after it.
    """

    mode: str
    streams: int
    rate: float
    seconds: float
    clusters: int = 100
    margin: float = 10.0


class Lag(msgspec.Struct):
    """A distribution in milliseconds."""

    p50_ms: float
    p99_ms: float
    max_ms: float


class Churned(msgspec.Struct):
    """What came of it.

    `slowest` is since when the slowest stream lacked a change, sampled ten times a second; `delivery` is how old
    a version was when its last stream got it. `leaps` is the share of (version, stream) that was leapt over for a
    newer version. `cpu_cores` is the server's use of a core, `memory_mib` its memory each second, `held_ms` the
    longest hold of its event loop, `lost` the number of streams that failed.
    """

    day: str
    mode: str
    streams: int
    rate: float
    seconds: float
    calm: bool
    changes: int
    snapshots: int
    slowest: Lag
    delivery: Lag
    leaps: float
    cpu_cores: float
    memory_mib: list[float]
    held_ms: float
    lost: int

    @property
    def growth_mib(self) -> float:
        """By how much memory grew from the second third of the time to the last; the first fills caches."""
        third = max(len(self.memory_mib) // 3, 1)
        return median(self.memory_mib[-third:]) - median(self.memory_mib[-2 * third : -third])


def measure(bench: Bench, load: Load) -> Churned:
    """Run the churn against Tidegate.

    Raises:
        StartError: the server does not come up.
        LoadError: the generator gave no report.
    """
    xds, http = free_port(), free_port()
    addresses = ["--listen", f"127.0.0.1:{xds}", "--http", f"127.0.0.1:{http}"]
    argv = [sys.executable, "-m", "bench.churn_server", "--clusters", str(load.clusters), *addresses]
    calm, neighbours = wait_calm(bench.patience), Neighbours()
    with running(argv, http, bench.cores.server) as pid:
        reports: list[Report] = []
        watch = f"{load.seconds + load.margin:.0f}s"
        flags = ["--target", f"127.0.0.1:{xds}", "--server-pid", str(pid), "--mode", load.mode, "--watch", watch]
        flags += ["--streams", str(load.streams)]
        thread = threading.Thread(target=lambda: reports.append(bench.load(flags)))
        thread.start()
        samples = _run(f"http://127.0.0.1:{http}", pid, load)
        thread.join()
    return _summarize(load, samples, reports[0], calm=calm and neighbours.are_calm())


class _Stats(msgspec.Struct):
    """The answer of `GET /stats`."""

    synced: int
    changes: int
    snapshots: int
    held_ms: float
    lags_ms: list[float]


@dataclass(slots=True)
class _Samples:
    first: int
    cpu_cores: float = 0.0
    memory_mib: list[float] = field(default_factory=list)
    held_ms: float = 0.0
    lags_ms: list[float] = field(default_factory=list)
    changes: int = 0
    snapshots: int = 0

    def note(self, stats: _Stats, memory: float) -> None:
        self.memory_mib.append(round(memory, 1))
        self.held_ms = max(self.held_ms, stats.held_ms)
        self.lags_ms += stats.lags_ms
        self.changes, self.snapshots = stats.changes, stats.snapshots - self.first


def _run(url: str, pid: int, load: Load) -> _Samples:
    """Wait for all streams, start the churn, and look at the server each second."""
    end = time.monotonic() + _PATIENCE
    while (stats := _stats(url)).synced < load.streams and time.monotonic() < end:
        time.sleep(0.2)
    samples = _Samples(stats.snapshots)
    _ask(f"{url}/churn?rate={load.rate}&seconds={load.seconds}", "POST")
    started, before = time.monotonic(), cpu_seconds(pid)
    while (passed := time.monotonic() - started) < load.seconds:
        time.sleep(min(_EVERY, load.seconds - passed))
        samples.note(_stats(url), resident_mib(pid))
    samples.cpu_cores = (cpu_seconds(pid) - before) / (time.monotonic() - started)
    return samples


def _stats(url: str) -> _Stats:
    return msgspec.json.decode(_ask(f"{url}/stats"), type=_Stats)


def _ask(url: str, method: str = "GET") -> bytes:
    request = urllib.request.Request(url, method=method)  # noqa: S310
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        found: bytes = answer.read()
        return found


def _summarize(load: Load, samples: _Samples, report: Report, *, calm: bool) -> Churned:
    stamped = [each for each in report.versions if each.type == "eds" and each.since_version_ms]
    versions = sorted(stamped, key=lambda each: int(each.version.rpartition("@")[2]))[1:]
    received = sum(version.streams for version in versions)
    return Churned(
        day=time.strftime("%Y-%m-%d"),
        mode=load.mode,
        streams=load.streams,
        rate=load.rate,
        seconds=load.seconds,
        calm=calm,
        changes=samples.changes,
        snapshots=samples.snapshots,
        slowest=_lag(samples.lags_ms),
        delivery=_lag([each.since_version_ms.max for each in versions if each.since_version_ms]),
        leaps=max(1 - received / max(samples.snapshots * load.streams, 1), 0.0),
        cpu_cores=samples.cpu_cores,
        memory_mib=samples.memory_mib,
        held_ms=samples.held_ms,
        lost=max(report.errors, report.open.streams - report.open.full),
    )


def _lag(values: list[float]) -> Lag:
    found = percentiles(values or [0.0])
    return Lag(found.p50, found.p99, found.max)

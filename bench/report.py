"""The report of a load generator: the part of its JSON that is read here. Both generators write the same."""

from __future__ import annotations

import msgspec


class Usage(msgspec.Struct):
    """What the server used: seconds on a core (all threads) of a phase, and resident memory at its end in MiB."""

    server_cpu_s: float = 0.0
    server_rss_mb: float = 0.0


class Opened(msgspec.Struct):
    """The start of all streams at once: how many have everything, and when the last had it, in milliseconds."""

    streams: int
    full: int
    all_full_ms: float
    usage: Usage
    timed_out: bool = False


class Change(msgspec.Struct):
    """One change: how many streams it reached, and the last of them when, in milliseconds from its publish."""

    reached: int
    last_ms: float
    usage: Usage
    timed_out: bool = False


class Percentiles(msgspec.Struct):
    """A distribution over streams, in milliseconds."""

    min: float
    p50: float
    p90: float
    p99: float
    max: float


class Version(msgspec.Struct):
    """One version of one type: how many streams got it, and how long after it was made (`@` in the version)."""

    type: str
    version: str
    streams: int
    spread_ms: float
    since_version_ms: Percentiles | None = None


class Report(msgspec.Struct):
    """All of it; `errors` is the number of streams that failed."""

    open: Opened
    changes: list[Change] = msgspec.field(default_factory=list)
    versions: list[Version] = msgspec.field(default_factory=list)
    errors: int = 0
    last_error: str = ""


def percentiles(values: list[float]) -> Percentiles:
    """The distribution of some values (at least one)."""
    ranked = sorted(values)

    def at(share: float) -> float:
        return ranked[min(len(ranked) - 1, int(share * len(ranked)))]

    return Percentiles(ranked[0], at(0.5), at(0.9), at(0.99), ranked[-1])

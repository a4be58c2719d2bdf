"""The last good value of each query, for as long as it may be used."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from cachetools import TTLCache

from xds_server.ir.facts import Query


@dataclass(frozen=True, slots=True)
class Sample:
    """A value as it was taken: `sampled` in POSIX seconds, the rest as in `ir.facts.Observation`."""

    value: float
    committed: float | None
    sampled: float
    state: str
    detail: str = ""


class Samples:
    """Values by query. One lives for `ttl` seconds of `clock`, whatever fails meanwhile; after that it is not there.

    One task asks each target, so a value is never asked for twice at a time.
    """

    def __init__(self, ttl: float, clock: Callable[[], float]) -> None:
        """Begin with no value."""
        self._values: TTLCache[Query, Sample] = TTLCache(math.inf, ttl, timer=clock)
        self._taken: dict[Query, float] = {}

    def get(self, query: Query) -> Sample | None:
        """The value, while it may be used."""
        return self._values.get(query)

    def put(self, query: Query, sample: Sample) -> None:
        """Keep a value that was just taken."""
        self._values[query] = sample
        self._taken[query] = sample.sampled

    def drop(self, query: Query) -> None:
        """Forget a value because the target says that there is none."""
        self._values.pop(query, None)

    def taken(self, query: Query) -> float:
        """When the newest value of the query was taken, though it may have expired; 0.0 for never."""
        return self._taken.get(query, 0.0)

    def keep_only(self, queries: Collection[Query]) -> None:
        """Forget all others."""
        for query in [each for each in self._taken if each not in queries]:
            self.drop(query)
            del self._taken[query]

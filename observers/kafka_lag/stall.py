"""Which groups commit nothing while records arrive."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from observers.kafka_lag.questions import Partition
from xds_server.ir.facts import LagQuery


@dataclass(slots=True)
class _Seen:
    commits: Mapping[Partition, int | None]
    end: int
    grown: int = 0


class Stalls:
    """A group stalls when so many samples in a row found more records and the same commits; any commit ends it.

    Samples between which nothing arrived neither count nor interrupt. A group that has committed nothing at all does
    not stall: that is said in words of its own.
    """

    def __init__(self, samples: int) -> None:
        """`samples` is how many it takes."""
        self._samples = samples
        self._seen: dict[LagQuery, _Seen] = {}

    def look(self, query: LagQuery, commits: Mapping[Partition, int | None], end: int) -> bool:
        """Whether the group stalls, after one more sample; `end` is the sum of the end offsets."""
        seen = self._seen.get(query)
        if seen is None or seen.commits != commits or all(offset is None for offset in commits.values()):
            seen = self._seen[query] = _Seen(commits, end)
        elif end > seen.end:
            seen.end, seen.grown = end, seen.grown + 1
        return seen.grown >= self._samples

    def keep_only(self, queries: Collection[LagQuery]) -> None:
        """Forget all others."""
        self._seen = {query: seen for query, seen in self._seen.items() if query in queries}

"""An observer of the tests' own, found by its entry point as those of other distributions are.

It answers in the place of Kafka's with what a file says: {"default/orders": 150}, or a text for why it is unknown.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from observers.base import Report
from xds_server.ir.facts import Observation, Query

_INTERVAL = 0.05
_NAME = "planted"


class PlantedObserver:
    """Samples a file."""

    def __init__(self, *, name: str, path: str) -> None:
        assert name == _NAME, "made by the name of its section"
        self.name = "kafka"
        self._path = Path(path)
        self._known: dict[Query, Observation] = {}

    def want(self, queries: Iterable[Query]) -> None:
        self._known = {each: self._known.get(each, Observation(each, None, unknown="new")) for each in queries}

    async def run(self, report: Report) -> None:
        while True:
            said = json.loads(await asyncio.to_thread(self._path.read_text))
            for query, before in self._known.items():
                self._known[query] = _sample(before, said.get(str(query), "nobody says"))
            report(self.observations())
            await asyncio.sleep(_INTERVAL)

    def observations(self) -> Sequence[Observation]:
        return list(self._known.values())


def _sample(before: Observation, said: float | str) -> Observation:
    if isinstance(said, str):
        return Observation(before.query, None, unknown=said, sampled=before.sampled, state="unknown", breaker="open")
    return Observation(before.query, said, sampled=time.time())


def install(folder: Path) -> Path:
    """Make the distribution that has the entry point; the folder that has to be on the path."""
    info = folder / "site" / "planted-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n", encoding="utf-8")
    entry = f"[tidegate.observers]\n{_NAME} = {__name__}:PlantedObserver\n"
    (info / "entry_points.txt").write_text(entry, encoding="utf-8")
    return info.parent

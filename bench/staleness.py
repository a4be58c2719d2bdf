"""How late the slowest stream is: since when it lacks a change of an endpoint that was made."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict

from bench.rig import GROUP, Rig
from xds_server.snapshot.snapshot import Snapshot
from xds_server.status.tracker import Tracker
from xds_server.stream.connection import Connection
from xds_server.wire.types import ENDPOINT

_KEPT = 600
_PERIOD = 0.1


class Staleness:
    """Looks at all streams ten times a second; `samples` are the lags of the slowest, in ms, since the last `take`."""

    def __init__(self, rig: Rig, tracker: Tracker) -> None:
        self._tracker = tracker
        self._samples: list[float] = []
        self._current = ""
        self._successor: OrderedDict[str, float] = OrderedDict()
        rig.groups.obtain(GROUP).watch(self, self._note)

    def take(self) -> list[float]:
        """The samples since the last call."""
        taken, self._samples = self._samples, []
        return taken

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            await asyncio.sleep(_PERIOD)
            now = time.time()
            late = (self._late(node, now) for node in self._tracker._live if isinstance(node, Connection))
            self._samples.append(max(late, default=0.0) * 1000)

    def _note(self, snapshot: Snapshot) -> None:
        """Remember when the oldest change was made that a version has and the one before it has not."""
        version = snapshot.typeset(ENDPOINT).version
        self._successor[self._current] = int(version.rpartition("@")[2] or 0) / 1e9
        self._current = version
        if len(self._successor) > _KEPT:
            self._successor.popitem(last=False)

    def _late(self, node: Connection, now: float) -> float:
        """Seconds since the first change that a stream has not accepted yet was made."""
        state = node._session.states.get(ENDPOINT) if node._session else None
        if state is None or state.acked.version == self._current:
            return 0.0
        made = self._successor.get(state.acked.version) or next(iter(self._successor.values()), now)
        return now - made

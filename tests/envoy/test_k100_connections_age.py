"""K100 with Envoys under load: their connections age out again and again, and neither a request nor a node is lost."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from tests.conformance.server import Server
from tests.support.fleet import SLACK, Fleet
from tests.support.publishers import LISTENER, FilePublisher, site
from tests.support.watching import last_updated, taken
from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.load import Load
from xds_server.demo.polling import until
from xds_server.stream.server import LAST_WORDS_MS

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(180)]

AGE = 2.0
JITTER = 0.1
"""By how much of the age gRPC varies it, either way."""

TIMES = 5
"""How often each Envoy comes back."""

AWAY = 1.0
"""Seconds within which an Envoy whose stream ended has a new one."""

EMPTY = 120
"""Bytes: a delta answer without resources holds a type URL, a version and a nonce."""

NEWS = ("cluster.start.update_success", "cluster_manager.cluster_updated")
"""Envoy's counters that a change of endpoints moves."""


class Roll:
    """What `/v1/nodes` tells of some nodes all the while: when their streams began, and how long there was none."""

    def __init__(self, plane: ControlPlane, nodes: list[str]) -> None:
        self.began: dict[str, list[datetime]] = {node: [] for node in nodes}
        self.longest = dict.fromkeys(nodes, 0.0)
        """Seconds that each node was away at a time."""
        self.unknown: set[str] = set()
        """Nodes that were missing from an answer."""
        self._plane = plane
        self._seen = dict.fromkeys(nodes, time.monotonic())

    def returns(self, node: str) -> int:
        """How many streams of a node began after its first."""
        return len(self.began[node]) - 1

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Ask for as long as the block lasts."""
        await self._look()
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        await self._look()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            await self._look()

    async def _look(self) -> None:
        told = (await self._plane.get("/v1/nodes"))["nodes"]
        now = time.monotonic()
        self.unknown |= self.began.keys() - {entry["id"] for entry in told}
        for entry in told:
            if entry["connected"]:
                self._note(entry["id"], datetime.fromisoformat(entry["since"]))
                self._seen[entry["id"]] = now
        for node, seen in self._seen.items():
            self.longest[node] = max(self.longest[node], now - seen)

    def _note(self, node: str, began: datetime) -> None:
        if began not in self.began[node][-1:]:
            self.began[node].append(began)


async def _sent(plane: ControlPlane) -> Counter[str]:
    """How many responses went out, and how many bytes, by type."""
    server = Server(plane.xds, plane.files, plane.request)
    counters = [(what, key) for what in ("pushes", "push_bytes") for key in ("cds", "eds", "lds", "rds")]
    return Counter(
        {f"{what} {key}": int(await server.metric(f"tidegate_{what}_total", type=key)) for what, key in counters}
    )


async def _returned(roll: Roll, times: int) -> None:
    async def there() -> bool:
        return all(roll.returns(node) >= times for node in roll.began)

    limit = times * (AGE * (1 + JITTER) + LAST_WORDS_MS / 1000 + AWAY)
    await until(there, within=limit * SLACK, what=f"all Envoys have come back {times} times")


async def test_k100_envoys_under_load_come_back(fleet: Fleet, backends: list[Backend]) -> None:
    """One change of endpoints falls into it; besides that, no Envoy takes anything anew."""
    plane = fleet.tidegate({"xds": {"max_connection_age": f"{AGE:g}s"}})
    await plane.start()
    envoys = await fleet.both(plane.xds)
    publisher = FilePublisher(plane, nodes=2)
    await publisher.publish(site("start", backends[0]))
    roll = Roll(plane, [envoy.node for envoy in envoys])
    async with Load(await fleet.urls(LISTENER), rate=200) as load, roll.kept():
        held = [await last_updated(envoy) for envoy in envoys]
        resources, sent = await taken(envoys[1], "start"), await _sent(plane)
        await _returned(roll, TIMES // 2)
        await publisher.publish(site("start", backends[1]))
        await _returned(roll, TIMES)
        await plane.programmed(nodes=2)
        sent = await _sent(plane) - sent
        resources |= {name: resources[name] + 1 for name in NEWS}
        assert await taken(envoys[1], "start") == resources
        assert [await last_updated(envoy) for envoy in envoys] == held
    assert load.failed == 0, load.failures()
    assert all(set(tally.answered_by) == {"blue", "green"} for tally in load.tallies.values())
    _check_roll(roll)
    _check_sent(roll, sent)


def _check_roll(roll: Roll) -> None:
    """All were known all the while; each stream was ended by its age only, and the next one began soon."""
    assert not roll.unknown
    assert max(roll.longest.values()) < AWAY * SLACK, roll.longest
    for began in roll.began.values():
        assert min(after - before for before, after in pairwise(began)) >= timedelta(seconds=(1 - JITTER) * AGE)


def _check_sent(roll: Roll, sent: Counter[str]) -> None:
    """What went out is what the protocol asks for.

    State of the world: types asked for by name, since a version does not tell which names are held. Delta: an empty
    answer for each wildcard. Both: the one change.
    """
    sotw, delta = roll.returns(Mode.SOTW), roll.returns(Mode.DELTA)
    assert sent["pushes eds"] <= sotw + 2
    assert sent["pushes rds"] <= sotw
    for key in ("cds", "lds"):
        assert sent[f"pushes {key}"] <= delta
        assert sent[f"push_bytes {key}"] <= delta * EMPTY

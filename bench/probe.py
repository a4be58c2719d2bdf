"""How long a publish holds the event loop: a probe beats beside the real pipeline while all, or little, is published.

Sessions of the product are told of each snapshot, as the server's streams are.
"""

from __future__ import annotations

import asyncio
from statistics import median

import msgspec
import uvloop

from bench.fleet import Fleet
from bench.heartbeat import Heartbeat
from bench.machine import Neighbours, wait_calm
from bench.rig import GROUP, Rig
from xds_server import process

_SETTLE = 0.05


class Hold(msgspec.Struct):
    """How long the loop was held at most (ms) while one kind of publish ran (`took_ms`, median), some times over."""

    publish: str
    mode: str
    clusters: int
    sessions: int
    times: int
    took_ms: float
    held_ms: float
    calm: bool


def measure(clusters: int = 10_000, sessions: int = 50, times: int = 5, patience: float = 0.0) -> list[Hold]:
    """The holds of a publish of everything and of one endpoint, in both variants of the protocol.

    For `patience` seconds each it waits for a calm machine.
    """
    holds = []
    process.look_seldom()
    for mode in ("delta", "sotw"):
        wait_calm(patience)
        holds += uvloop.run(_probe(mode, clusters, sessions, times))
    return holds


async def _probe(mode: str, clusters: int, sessions: int, times: int) -> list[Hold]:
    rig = Rig(clusters)
    running = asyncio.create_task(rig.pipeline.run())
    await rig.start()
    fleet = Fleet(rig.groups.obtain(GROUP), mode, sessions)
    process.keep()
    holds = []
    for kind, change in (("everything", rig.everything), ("one endpoint", rig.one)):
        took, held, neighbours = [], 0.0, Neighbours()
        for _ in range(times):
            units = change()
            async with Heartbeat() as heart:
                took.append(await rig.publish(units))
                await asyncio.sleep(_SETTLE)
            held = max(held, heart.held_ms)
            while fleet.answer():
                pass
        holds.append(Hold(kind, mode, clusters, sessions, times, median(took) * 1000, held, neighbours.are_calm()))
    running.cancel()
    return holds

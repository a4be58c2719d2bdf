"""Tidegate under churn: the product's pipeline and xDS server over a world that changes by itself.

`POST /churn?rate=100&seconds=60` starts the changes, `GET /stats` tells how it goes.
"""

from __future__ import annotations

import argparse
import asyncio
import time

import uvloop
from aiohttp import web

from bench.heartbeat import Heartbeat
from bench.publishing import add_arguments, serve_publish
from bench.rig import GROUP, Rig
from bench.staleness import Staleness
from xds_server import process
from xds_server.status.tracker import Tracker
from xds_server.stream.context import StreamContext
from xds_server.stream.server import XdsServer


class Churn:
    """Changes an endpoint at a steady rate."""

    def __init__(self, rig: Rig, tracker: Tracker, heart: Heartbeat, staleness: Staleness) -> None:
        self._rig = rig
        self._tracker = tracker
        self._heart = heart
        self._staleness = staleness
        self._changes = 0
        self._task: asyncio.Task[None] | None = None

    def publish(self, mode: str, count: int) -> dict[str, object]:
        """Change everything once, or one endpoint `count` times."""
        for _ in range(1 if mode == "all" else count):
            self._rig.hand_over(self._rig.everything() if mode == "all" else self._rig.one())
        return {"mode": mode}

    async def start(self, request: web.Request) -> web.Response:
        """`POST /churn`: change one endpoint `rate` times a second, for so many seconds."""
        rate, seconds = float(request.query["rate"]), float(request.query["seconds"])
        self._heart.reset()
        self._staleness.take()
        self._task = asyncio.create_task(self._run(rate, seconds))
        return web.json_response({})

    async def stats(self, _request: web.Request) -> web.Response:
        """`GET /stats`: streams in sync, changes, snapshots; since the last question the hold and the lags (ms)."""
        current = self._rig.groups.obtain(GROUP).current
        return web.json_response(
            {
                "synced": self._tracker.counts(GROUP).acked,
                "changes": self._changes,
                "snapshots": current.seq if current else 0,
                "held_ms": self._heart.reset(),
                "lags_ms": self._staleness.take(),
            }
        )

    async def _run(self, rate: float, seconds: float) -> None:
        """A change that came late because the loop was busy is made up for, so the rate holds."""
        start = time.monotonic()
        while (passed := time.monotonic() - start) < seconds:
            while self._changes < passed * rate:
                self._changes += 1
                self._rig.hand_over(self._rig.one())
            await asyncio.sleep(1 / rate)


async def serve(args: argparse.Namespace) -> None:
    """Serve until cancelled."""
    rig = Rig(args.clusters, args.endpoints, args.routes)
    running = asyncio.create_task(rig.pipeline.run())
    await rig.start()
    process.keep()
    tracker = Tracker(rig.groups, rig.bus, time.time)
    server = XdsServer(StreamContext(rig.groups, tracker, rig.metrics))
    await server.start(args.listen)
    async with Heartbeat() as heart:
        staleness = Staleness(rig, tracker)
        sampling = asyncio.create_task(staleness.run())
        churn = Churn(rig, tracker, heart, staleness)
        routes = (web.post("/churn", churn.start), web.get("/stats", churn.stats))
        await serve_publish(args.http, churn.publish, routes)
        await asyncio.gather(running, sampling)


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    process.look_seldom()
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()

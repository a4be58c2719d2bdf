"""Tidegate under the load generator: the product's xDS server over a synthetic world, republished by HTTP.

    python -m bench.tidegate_server --clusters 1000 --endpoints 10 --routes 100
    curl -X POST 'http://127.0.0.1:18081/publish?mode=one'
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import time

import uvloop
from aiohttp import web

from bench import world
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import empty
from xds_server.status.events import EventBus
from xds_server.status.tracker import Tracker
from xds_server.stream.context import StreamContext
from xds_server.stream.server import XdsServer
from xds_server.telemetry.metrics import Metrics
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE

GROUP = "bench"


class Publisher:
    """Changes the world, one endpoint or everything, and publishes it."""

    def __init__(self, groups: Groups, args: argparse.Namespace) -> None:
        self._groups = groups
        self._args = args
        self._seq = 0
        self._types = {url: empty(url) for url in (CLUSTER, ENDPOINT, LISTENER, ROUTE)}

    def publish(self, mode: str, count: int) -> dict[str, object]:
        """Publish a change of one endpoint of `count` clusters, or of everything; what it took, in milliseconds."""
        started = time.perf_counter()
        self._seq += 1
        changes = self._everything() if mode == "all" else {ENDPOINT: self._some(count)}
        for url, resources in changes.items():
            self._types[url] = self._types[url].evolve({each.name: each for each in resources})
        snapshot = Snapshot(GROUP, self._seq, time.time(), dict(self._types))
        built = time.perf_counter()
        self._groups.obtain(GROUP).publish(snapshot)
        done = time.perf_counter()
        return {
            "seq": self._seq,
            "version": snapshot.version,
            "mode": mode,
            "build_ms": (built - started) * 1e3,
            "set_ms": (done - built) * 1e3,
        }

    def _some(self, count: int) -> list[Resource]:
        args = self._args
        numbers = {(self._seq * count + index) % args.clusters for index in range(count)}
        return [world.assignment(number, args.endpoints, self._seq) for number in sorted(numbers)]

    def _everything(self) -> dict[str, list[Resource]]:
        args, seq = self._args, self._seq
        return {
            CLUSTER: [world.cluster(number, seq) for number in range(args.clusters)],
            ENDPOINT: [world.assignment(number, args.endpoints, seq) for number in range(args.clusters)],
            LISTENER: [world.listener(seq)],
            ROUTE: [world.routes(args.routes, args.clusters, seq)],
        }


async def serve(args: argparse.Namespace) -> None:
    """Serve until cancelled."""
    groups, bus = Groups(time.time), EventBus(time.time)
    shared = StreamContext(groups, Tracker(groups, bus, time.time), Metrics())
    publisher = Publisher(groups, args)
    publisher.publish("all", 0)
    groups.set_synced()
    gc.freeze()
    server = XdsServer(shared)
    await server.start(args.listen)

    async def publish(request: web.Request) -> web.Response:
        count = int(request.query.get("n", "1"))
        return web.json_response(publisher.publish(request.query.get("mode", "one"), count))

    app = web.Application()
    app.router.add_post("/publish", publish)
    runner = web.AppRunner(app)
    await runner.setup()
    host, _, port = args.http.rpartition(":")
    await web.TCPSite(runner, host, int(port)).start()
    await asyncio.Event().wait()


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:18080")
    parser.add_argument("--http", default="127.0.0.1:18081")
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--endpoints", type=int, default=10)
    parser.add_argument("--routes", type=int, default=100)
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()

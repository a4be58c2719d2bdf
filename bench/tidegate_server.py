"""Tidegate under the load generator: the product's xDS server over a synthetic world, republished by HTTP.

python -m bench.tidegate_server --clusters 1000 --endpoints 10 --routes 100
curl -X POST 'http://127.0.0.1:18081/publish?mode=one'
"""

from __future__ import annotations

import argparse
import asyncio
import time

import uvloop

from bench.publishing import add_arguments, serve_publish
from bench.world import World
from xds_server import process
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import empty
from xds_server.status.events import EventBus
from xds_server.status.tracker import Tracker
from xds_server.stream.context import StreamContext
from xds_server.stream.server import XdsServer
from xds_server.telemetry.metrics import Metrics
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE

GROUP = "bench"
"""The group of everything here: the generators' nodes are of the cluster of that name."""


class Publisher:
    """Changes the world, one endpoint or everything, and publishes it."""

    def __init__(self, groups: Groups, world: World) -> None:
        self._groups = groups
        self._world = world
        self._seq = 0
        self._types = {url: empty(url) for url in (CLUSTER, ENDPOINT, LISTENER, ROUTE)}

    def publish(self, mode: str, count: int) -> dict[str, object]:
        """Publish a change of one endpoint of `count` clusters, or of everything; what it took, in milliseconds."""
        started = time.perf_counter()
        self._seq += 1
        for url, resources in self._world.change(mode, count).items():
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


async def serve(args: argparse.Namespace) -> None:
    """Serve until cancelled."""
    groups = Groups(time.time, later=asyncio.get_running_loop().call_soon)
    publisher = Publisher(groups, World(args.clusters, args.endpoints, args.routes))
    publisher.publish("all", 0)
    groups.set_synced()
    process.keep()
    server = XdsServer(StreamContext(groups, Tracker(groups, EventBus(time.time), time.time), Metrics()))
    await server.start(args.listen)
    await serve_publish(args.http, publisher.publish)
    await asyncio.Event().wait()


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    process.look_seldom()
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()

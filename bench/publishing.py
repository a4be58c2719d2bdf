"""What every server under test here has beside ADS: the same arguments, and `POST /publish` over HTTP."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from aiohttp import web

Publish = Callable[[str, int], dict[str, object]]
"""(mode `one` or `all`, number of clusters) → what the answer tells."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the addresses and the size of the world."""
    parser.add_argument("--listen", default="127.0.0.1:18080", help="ADS address")
    parser.add_argument("--http", default="127.0.0.1:18081", help="address of POST /publish")
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--endpoints", type=int, default=10, help="endpoints of each cluster")
    parser.add_argument("--routes", type=int, default=100, help="routes in the one route configuration")


async def serve_publish(address: str, publish: Publish, routes: tuple[web.RouteDef, ...] = ()) -> None:
    """Serve `POST /publish?mode=one|all&n=COUNT`, and further routes, from now on."""

    async def handle(request: web.Request) -> web.Response:
        count = int(request.query.get("n", "1"))
        return web.json_response(publish(request.query.get("mode", "one"), count))

    app = web.Application()
    app.add_routes([web.post("/publish", handle), *routes])
    runner = web.AppRunner(app)
    await runner.setup()
    host, _, port = address.rpartition(":")
    await web.TCPSite(runner, host, int(port)).start()

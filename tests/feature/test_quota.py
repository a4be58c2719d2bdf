"""Limits that a fleet shares, seen by clients that come and go: how much each is told to let through, and how often."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3.route_pb2 import RouteConfiguration

from tests.conformance.client import Stream, connect
from tests.conformance.wire import Variant
from tests.feature.restarts import on_disk
from tests.feature.shop import Shop, gateway, shop
from xds_server.status.fleet_size import SHRINK_AFTER

ROUTES = "http-8080"
_numbers = count(1)


@asynccontextmanager
async def client(place: Shop, *, node: str = "", agent: str = "envoy") -> AsyncIterator[Stream]:
    """A client that has the routes; its variant changes from one to the next."""
    number = next(_numbers)
    named = base_pb2.Node(id=node or f"node-{number}", user_agent_name=agent)
    variant = Variant.DELTA if number % 2 else Variant.SOTW
    async with connect(place.server.plane.xds) as channel, Stream(channel, variant, named) as stream:
        stream.ask("rds", ROUTES)
        await stream.until(lambda: fleet(stream), what="routes")
        yield stream


def fleet(stream: Stream) -> int:
    """Among how many the limits of the routes that a client has are shared, 0 without."""
    body = stream.holds.get("rds", {}).get(ROUTES)
    if body is None:
        return 0
    metadata = RouteConfiguration.FromString(body).metadata.filter_metadata["tidegate.dev"]
    return int(metadata.fields["fleet"].number_value)


async def told(stream: Stream, size: int) -> None:
    await stream.until(lambda: fleet(stream) == size, within=SHRINK_AFTER + 5, what=f"shared by {size}")


@asynccontextmanager
async def limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    async with shop(tmp_path, monkeypatch) as place:
        place.declare(gateway(maxQps=100))
        await place.decided("primary", max_qps=100, share=1.0)
        yield place


async def test_who_joins_and_leaves_costs_one_update_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with limited(tmp_path, monkeypatch) as place, client(place) as first:
        assert fleet(first) == 1
        async with client(place) as second:
            await told(first, 2)
            await told(second, 2)
            await place.decided("primary", share=0.5)
            async with client(place, node=second.node.id if second.node else ""):
                first.skip()
                await first.quiet("rds", seconds=1.0)
            for _ in range(3):
                async with client(place) as third:
                    await told(third, 3)
                await asyncio.sleep(0.1)
            await told(first, 3)
            assert len(first.of("rds")) == 3, "who comes back in time changes nothing"
            await told(first, 2)
        await told(first, 1)
        assert len(first.of("rds")) == 5
        assert await place.server.metric("tidegate_max_qps_share", group="default") == 1.0


async def test_clients_that_are_no_envoys_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with limited(tmp_path, monkeypatch) as place, client(place) as first, client(place, agent="gRPC C-core"):
        first.skip()
        await first.quiet(seconds=1.0)
        assert fleet(first) == 1


async def test_a_limit_that_comes_is_shared_and_where_there_is_none_nobody_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        version = (await place.server.get("/v1/groups/default"))["version"]
        async with connect(place.server.plane.xds) as channel:
            nodes = [base_pb2.Node(id=f"n{number}", user_agent_name="envoy") for number in range(3)]
            streams = [Stream(channel, Variant.DELTA, node) for node in nodes]
            async with streams[0], streams[1], streams[2]:
                for stream in streams:
                    stream.ask("rds", ROUTES)
                    await stream.next("rds")
                assert (await place.server.get("/v1/groups/default"))["version"] == version
                assert await place.server.metric("tidegate_max_qps_share") == 0
                place.declare(gateway(maxQps=100))
                for stream in streams:
                    await told(stream, 3)
                place.declare(gateway())
                await streams[0].until(lambda: fleet(streams[0]) == 0, what="no limit")


async def test_a_restart_goes_on_with_the_number_that_was_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with limited(tmp_path, monkeypatch) as place:
        async with client(place) as first, client(place), client(place):
            await told(first, 3)
            version = (await place.server.get("/v1/groups/default"))["version"]

            await on_disk(place.server)
            await place.server.plane.stop()
        await place.server.plane.start()
        async with client(place) as first:
            await place.decided("primary", share=1 / 3)
            first.skip()
            await first.quiet(seconds=SHRINK_AFTER + 1.0)
            assert fleet(first) == 3, "who is back first does not get the part of the others"
            assert (await place.server.get("/v1/groups/default"))["version"] == version

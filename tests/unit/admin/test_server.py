"""The server: real addresses, and an end within seconds."""

from __future__ import annotations

import asyncio
import time

import aiohttp
import pytest

from tests.support.fleet import SLACK
from tests.unit.admin.client import problem_of
from tests.unit.admin.world import World
from xds_server.admin import AdminServer
from xds_server.settings import Address


async def test_port_0_becomes_a_real_one(world: World) -> None:
    server = AdminServer(world.deps())
    with pytest.raises(RuntimeError):
        assert server.address
    assert await server.start(Address("127.0.0.1:0")) == server.address
    try:
        address = Address(server.address)
        assert (address.host, address.port > 0) == ("127.0.0.1", True)
        async with aiohttp.ClientSession(f"http://{address}") as http:
            async with http.get("/healthz") as response:
                assert response.status == 200
            async with http.get("/healthz", headers={"Host": "evil.example"}) as response:
                await problem_of(response, 421)
    finally:
        await server.stop()


async def test_it_stops_at_once_with_followers_and_idle_clients(world: World) -> None:
    server = AdminServer(world.deps())
    assert await server.start(Address("127.0.0.1:0")) == server.address
    async with aiohttp.ClientSession(f"http://{server.address}") as http:
        async with http.get("/healthz") as idle:
            await idle.read()
        followers = [await http.get("/v1/events") for _ in range(3)]
        started = time.monotonic()
        await server.stop()
        assert time.monotonic() - started < 1.5 * SLACK
        for follower in followers:
            assert await asyncio.wait_for(follower.content.read(), 1 * SLACK) == b""


async def test_an_address_in_use_is_an_error(world: World) -> None:
    first = AdminServer(world.deps())
    await first.start(Address("127.0.0.1:0"))
    try:
        second = AdminServer(world.deps())
        with pytest.raises(OSError, match="address already in use"):
            await second.start(Address(first.address))
    finally:
        await first.stop()

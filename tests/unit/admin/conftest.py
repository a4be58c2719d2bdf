"""The admin API over a small world, with a client."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp.test_utils import TestClient, TestServer

from tests.unit.admin.client import Client
from tests.unit.admin.world import World
from xds_server.admin import create_app


@pytest.fixture
async def world() -> World:
    return World()


@pytest.fixture
async def client(world: World) -> AsyncIterator[Client]:
    async with TestClient(TestServer(create_app(world.deps()))) as http:
        yield Client(http)

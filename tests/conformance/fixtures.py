"""Fixtures that the conformance and the feature tests share: one server for all, streams for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conformance.documents import World
from tests.conformance.server import Clients, Server, running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """The server under test."""
    async with running(tmp_path_factory.mktemp("conformance")) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session")
async def clients(server: Server) -> AsyncIterator[Clients]:
    """Opens streams to the server."""
    async with AsyncExitStack() as stack:
        yield Clients(server.xds, stack)


@pytest.fixture
def world(server: Server) -> World:
    """The files of a group of this test's own."""
    return server.world()


def in_one_loop(items: Iterable[pytest.Item], folder: Path) -> None:
    """Run the asynchronous tests below `folder` in the loop of the session, where the server's fixture lives."""
    for item in items:
        if folder in item.path.parents and item.get_closest_marker("asyncio") is not None:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)

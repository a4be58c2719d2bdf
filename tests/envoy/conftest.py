"""Fixtures of the tests with real Envoys."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.support.fleet import Fleet
from xds_server.demo.backends import Backend


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Starts Tidegate and Envoys for this test."""
    async with AsyncExitStack() as stack:
        yield Fleet(tmp_path, stack)


@pytest.fixture
async def backends() -> AsyncIterator[list[Backend]]:
    """Two HTTP servers that answer with their names."""
    async with Backend("blue") as blue, Backend("green") as green:
        yield [blue, green]

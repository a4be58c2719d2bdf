"""Fixtures of the tests at scale."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conformance.fixtures import in_one_loop
from tests.support.fleet import Fleet


@pytest_asyncio.fixture(loop_scope="session")
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Starts Tidegate and Envoys for this test."""
    async with AsyncExitStack() as stack:
        yield Fleet(tmp_path, stack)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All asynchronous tests share the loop of the session: gRPC binds itself to the first loop that it sees."""
    in_one_loop(items, Path(__file__).parent)

"""What holds for every test."""

from __future__ import annotations

import asyncio
import os

import pytest

from xds_server.process import listen_directly

listen_directly(os.environ)  # As `serve` does, before anything imports gRPC.


@pytest.fixture(scope="session", autouse=True)
def no_loop_unless_asked() -> None:
    """Say that there is no loop: else a look at the current one makes one on Python 3.11, and nobody closes it."""
    asyncio.set_event_loop(None)

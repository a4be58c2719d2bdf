"""What holds for every test."""

from __future__ import annotations

import asyncio
import os

import pytest
from hypothesis import settings

from xds_server.process import listen_directly

listen_directly(os.environ)  # As `serve` does, before anything imports gRPC.

# On a busy machine an example may take any time.
settings.register_profile("busy", settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("busy")


@pytest.fixture(scope="session", autouse=True)
def no_loop_unless_asked() -> None:
    """Say that there is no loop: else a look at the current one makes one on Python 3.11, and nobody closes it."""
    asyncio.set_event_loop(None)

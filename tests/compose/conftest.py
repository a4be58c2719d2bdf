"""Every test here needs Docker; without it, it is skipped, and says what is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compose.stack import Stack, compose, missing
from tests.support.tiers import mark_tier

HERE = Path(__file__).parent
LOGS = 200
"""Lines of each container that are shown when something failed."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here."""
    mark_tier(items, HERE, timeout=900)  # The first one builds the images, too.


@pytest.fixture(scope="session")
def stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """All containers, healthy. They are taken down at the end; if a test failed, their logs are printed before."""
    if why := missing():
        pytest.skip(why)
    failed = request.session.testsfailed
    try:
        compose("up", "--build", "--detach", "--wait")
        yield Stack()
    finally:
        if request.session.testsfailed > failed or sys.exc_info()[0]:
            with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
                sys.stderr.write(compose("logs", "--no-color", f"--tail={LOGS}"))
        compose("down", "--volumes", "--remove-orphans", "--timeout", "5")

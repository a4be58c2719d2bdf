"""Fixtures of the feature tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.fixtures import clients, in_one_loop, server, world

__all__ = ["clients", "server", "world"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All asynchronous tests share the loop of the session."""
    in_one_loop(items, Path(__file__).parent)

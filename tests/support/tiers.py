"""Tiers: folders of tests that need something which is not a Python package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest


def mark_tier(items: Iterable[pytest.Item], folder: Path, *, timeout: float, missing: str = "") -> None:
    """Mark the tests of a folder by its name; they have `timeout` seconds where they say nothing else.

    `missing` says what they need and is not there: then they are skipped with that.
    """
    for item in items:
        if folder not in item.path.parents:
            continue
        item.add_marker(folder.name)
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(timeout))
        if missing:
            item.add_marker(pytest.mark.skip(reason=missing))

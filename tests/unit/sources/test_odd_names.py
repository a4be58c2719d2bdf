"""Files whose names are no text: told, and in nobody's way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.sources.recording import cluster, put, running

_KEY = "\\xff\\xfe.yaml"


def _make(bad: Path, *, is_folder: bool) -> None:
    bad.mkdir() if is_folder else bad.touch()


def _drop(bad: Path, *, is_folder: bool) -> None:
    bad.rmdir() if is_folder else bad.unlink()


@pytest.mark.parametrize("is_folder", [False, True])
async def test_a_name_that_is_not_utf8_stops_no_other_file(tmp_path: Path, *, is_folder: bool) -> None:
    """The operating system tells of it, and watchfiles can't pass that on: what it raises ends no source."""
    bad = tmp_path / os.fsdecode(b"\xff\xfe.yaml")
    async with running(tmp_path) as sink:
        _make(bad, is_folder=is_folder)
        await sink.until(lambda: _KEY in sink.units)
        assert [each.message for each in sink.units[_KEY].problems] == ["can't be read: its name is not UTF-8"]
        put(tmp_path / "a.yaml", cluster("a"))
        await sink.until(lambda: "a.yaml" in sink.units)
        os.utime(bad)
        put(tmp_path / "b.yaml", cluster("b"))
        await sink.until(lambda: "b.yaml" in sink.units)
        _drop(bad, is_folder=is_folder)
        await sink.shows({"a.yaml": ["a"], "b.yaml": ["b"]})
        assert not sink.failures

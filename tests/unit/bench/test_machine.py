"""What is read from /proc, and programs that do not come up."""

from __future__ import annotations

import asyncio
import os
import sys
import time

import pytest

from bench import machine
from bench.gobuild import SOURCES, build
from bench.heartbeat import Heartbeat
from bench.processes import StartError, cpu_seconds, free_port, resident_mib, running


def test_own_usage_is_seen() -> None:
    before = cpu_seconds(os.getpid())
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    assert cpu_seconds(os.getpid()) > before
    assert resident_mib(os.getpid()) > 1


def test_a_pinned_core_is_given_back() -> None:
    before = os.sched_getaffinity(0)
    with machine.pinned(min(before)):
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before


def test_a_program_that_ends_is_told_with_its_words() -> None:
    argv = [sys.executable, "-c", "raise SystemExit('no such luck')"]
    with pytest.raises(StartError, match="no such luck"), running(argv, free_port(), None):
        pass


def test_without_sources_there_is_no_go_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SOURCES, raising=False)
    assert build() is None


async def test_the_heartbeat_sees_a_hold() -> None:
    async with Heartbeat() as heart:
        time.sleep(0.05)  # noqa: ASYNC251
        await asyncio.sleep(0.01)
    assert heart.held_ms >= 40

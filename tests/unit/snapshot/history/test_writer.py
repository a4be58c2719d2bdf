"""The writer: in order, many at a time, nobody waits, nothing is forgotten when the disk fails for a while."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
import structlog

from xds_server.snapshot.history import writer as writers
from xds_server.snapshot.history.writer import Writer


class Disk:
    """Takes what is written; can be slow and can fail."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.free = threading.Event()
        self.free.set()
        self.failures = 0

    def write(self, items: Sequence[int]) -> None:
        assert self.free.wait(10)
        if self.failures:
            self.failures -= 1
            raise OSError(28, "No space left on device")
        self.batches.append(list(items))


async def test_what_gathers_is_written_at_once_and_in_order() -> None:
    disk = Disk()
    writer = Writer(disk.write, lambda _: None, Path("state"))
    running = asyncio.create_task(writer.run())
    disk.free.clear()
    writer.add(1)
    await asyncio.sleep(0.05)
    for number in range(2, 10):
        writer.add(number)
    waiting = asyncio.create_task(writer.flushed())
    await asyncio.sleep(0.05)
    assert not waiting.done()
    disk.free.set()
    await waiting
    assert disk.batches == [[1], list(range(2, 10))]
    await writer.close()
    await running


async def test_what_could_not_be_written_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "_RETRY", 0.05)
    disk = Disk()
    disk.failures = 2
    told: list[OSError] = []
    writer = Writer(disk.write, told.append, Path("state"))
    running = asyncio.create_task(writer.run())
    writer.add(1)
    writer.add(2)
    await writer.flushed()
    assert disk.batches == [[1, 2]]
    assert [each.filename for each in told] == ["state"] * 2
    await writer.close()
    await running


@pytest.mark.parametrize(("every", "lines"), [(60.0, [1]), (0.0, [1, 2, 3, 4])])
async def test_a_failure_that_goes_on_is_logged_once_a_minute_and_so_is_its_end(
    monkeypatch: pytest.MonkeyPatch, every: float, lines: list[int]
) -> None:
    monkeypatch.setattr(writers, "_RETRY", 0.01)
    monkeypatch.setattr(writers, "_LOGGED_EVERY", every)
    disk = Disk()
    disk.failures = 4
    writer = Writer(disk.write, lambda _: None, Path("state"))
    with structlog.testing.capture_logs() as logs:
        running = asyncio.create_task(writer.run())
        writer.add(1)
        await writer.flushed()
        writer.add(2)
        await writer.flushed()
        await writer.close()
        await running
    told = [each["failed_tries"] for each in logs if each["event"] == "state_not_written"]
    assert told == lines
    assert [each["failed_tries"] for each in logs if each["event"] == "state_written_again"] == [4]


async def test_a_disk_that_hangs_costs_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "_RETRY", 0.05)
    disk = Disk()
    disk.failures = 1
    writer = Writer(disk.write, lambda _: None, Path("state"))
    running = asyncio.create_task(writer.run())
    for number in range(writers.MOST_WAITING + 500):
        writer.add(number)
    await writer.flushed()
    written = [number for batch in disk.batches for number in batch]
    assert written == list(range(500, writers.MOST_WAITING + 500)), "the newest"
    await writer.close()
    await running


async def test_closing_writes_what_is_left_and_does_not_wait_for_a_broken_disk() -> None:
    disk = Disk()
    writer = Writer(disk.write, lambda _: None, Path("state"))
    running = asyncio.create_task(writer.run())
    writer.add(1)
    await writer.close()
    await running
    assert disk.batches == [[1]]
    broken = Disk()
    broken.failures = 1000
    writer = Writer(broken.write, lambda _: None, Path("state"))
    running = asyncio.create_task(writer.run())
    writer.add(1)
    await asyncio.sleep(0.05)
    async with asyncio.timeout(1):
        await writer.close()
        await running


async def test_closing_writes_what_was_added_while_something_was_written() -> None:
    disk = Disk()
    writer = Writer(disk.write, lambda _: None, Path("state"))
    running = asyncio.create_task(writer.run())
    disk.free.clear()
    writer.add(1)
    await asyncio.sleep(0.05)
    writer.add(2)
    closing = asyncio.create_task(writer.close())
    await asyncio.sleep(0.05)
    disk.free.set()
    await closing
    await running
    assert disk.batches == [[1], [2]]

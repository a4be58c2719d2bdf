"""The benchmark of reading a cluster: what a reader does not bring out in time is told, and not waited for."""

from __future__ import annotations

import asyncio
import time

from bench.kubernetes import Followed, Missed, times
from bench.table import followers


async def test_a_change_that_does_not_arrive_is_waited_for_so_long_only() -> None:
    async def never(_address: str) -> None:
        await asyncio.Event().wait()

    began = time.monotonic()
    found = await times(never, 3, 0.0, 0.02)
    assert found == (None, Missed(3, 3, 0.02))
    assert 0.06 <= time.monotonic() - began < 10


async def test_the_median_is_of_those_that_arrive() -> None:
    asked: list[str] = []

    async def each_second_time(address: str) -> None:
        asked.append(address)
        if len(asked) % 2:
            await asyncio.Event().wait()

    found = await times(each_second_time, 4, 0.0, 0.05)
    assert found.missed == Missed(2, 4, 0.05)
    assert found.median_ms is not None
    assert found.median_ms < 50
    assert len(set(asked)) == 4, "each moves it to an address of its own"


def test_a_ratio_to_what_was_missed_is_a_bound() -> None:
    ours = Followed("tidegate", 10, 2, 1.0, 100.0, 10.0, 20.0, 0.5)
    all_missed = Followed("naive", 10, 2, 2.0, 200.0, 30.0, None, busy_missed=Missed(4, 4, 60.0))
    some_missed = Followed("naive", 10, 2, 2.0, 200.0, 30.0, 5000.0, busy_missed=Missed(1, 4, 60.0))
    assert [each.strip() for each in rows(ours, all_missed)] == ["20.0", "4 of 4 not within 60 s", "over 3,000.0x"]
    assert [each.strip() for each in rows(ours, some_missed)] == [
        "20.0",
        "5,000; 1 of 4 not within 60 s",
        "over 250.0x",
    ]


def rows(*found: Followed) -> list[str]:
    """The column `busy` of the table."""
    return [line.split("|")[7] for line in followers(found).splitlines()[2:]]

"""Turns: others of the event loop go on between the steps of much work, and what is begun is brought to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from xds_server.sources import turns
from xds_server.sources.turns import SLICE, in_turns


class Clock:
    """Stands still but for what a step takes."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(turns, "time", clock)
    return clock


class Work:
    """Steps that take so many seconds each; `since_turn` is how many were done since the loop last went on."""

    def __init__(self, clock: Clock, count: int, seconds: float) -> None:
        self.done, self.since_turn, self.most = 0, 0, 0
        self._clock, self._count, self._seconds = clock, count, seconds

    def steps(self) -> Iterator[None]:
        for _ in range(self._count):
            if not self.since_turn:
                asyncio.get_running_loop().call_soon(self._went_on)
            self.done += 1
            self.since_turn += 1
            self.most = max(self.most, self.since_turn)
            self._clock.now += self._seconds
            yield

    def _went_on(self) -> None:
        self.since_turn = 0


async def test_others_have_a_turn_whenever_a_slice_is_over(clock: Clock) -> None:
    work = Work(clock, 100, SLICE / 3.9)
    await in_turns(work.steps())
    assert (work.done, work.most) == (100, 4)


async def test_short_work_is_done_in_one_turn(clock: Clock) -> None:
    work = Work(clock, 100, SLICE / 1000)
    await in_turns(work.steps())
    assert (work.done, work.most) == (100, 100)


async def test_who_is_cancelled_takes_the_rest_at_once(clock: Clock) -> None:
    work = Work(clock, 100, SLICE)
    task = asyncio.create_task(in_turns(work.steps()))
    await asyncio.sleep(0)
    assert 0 < work.done < 100
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert work.done == 100


async def test_an_error_of_a_step_is_raised_and_ends_it(clock: Clock) -> None:
    def steps() -> Iterator[None]:
        yield
        raise LookupError

    with pytest.raises(LookupError):
        await in_turns(steps())

"""The controller's shell under virtual time: workers, results, errors, the end."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import uvloop
from structlog.testing import capture_logs

from k8s_source.workqueue.controller import Controller
from k8s_source.workqueue.meter import Outcome
from k8s_source.workqueue.rate import Backoff, Limits
from k8s_source.workqueue.result import PermanentError, Result, RetryableError
from tests.support.working import Counting

pytestmark = pytest.mark.looptime

EXACT = Limits(Backoff(jitter=0))


def now() -> float:
    return asyncio.get_running_loop().time()


class Work:
    """A reconcile that takes `takes` seconds, does what `then` says, and watches that no key is worked on twice at a time."""

    def __init__(self, takes: float = 0.0, then: Callable[[str, int], Result] = lambda _key, _number: Result()) -> None:
        self.calls: list[tuple[float, str]] = []
        self.ended: list[str] = []
        self.now: Counter[str] = Counter()
        self.most = 0
        self._takes = takes
        self._then = then

    async def __call__(self, key: str) -> Result:
        self.calls.append((now(), key))
        self.now[key] += 1
        assert self.now[key] == 1
        self.most = max(self.most, self.now.total())
        try:
            await asyncio.sleep(self._takes)
            result = self._then(key, sum(each == key for _, each in self.calls))
            self.ended.append(key)
            return result
        finally:
            self.now[key] -= 1


@asynccontextmanager
async def running(controller: Controller[str]) -> AsyncIterator[None]:
    task = asyncio.create_task(controller.run())
    await asyncio.sleep(0)
    yield
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def made(work: Work, workers: int = 1, grace: float = 10.0) -> tuple[Controller[str], Counting]:
    meter = Counting()
    return Controller("shop", work, meter, workers=workers, limits=EXACT, grace=grace, clock=now), meter


async def test_keys_wait_for_the_run_and_are_worked_on_once() -> None:
    work = Work()
    controller, meter = made(work)
    for key in ("a", "b", "a"):
        controller.add(key)
    await asyncio.sleep(1)
    assert work.calls == []
    assert controller.depth == 2
    async with running(controller):
        await asyncio.sleep(1)
        assert [key for _, key in work.calls] == ["a", "b"]
    assert meter.outcomes == {Outcome.SUCCESS: 2}


async def test_no_more_than_the_workers_at_a_time() -> None:
    work = Work(takes=1)
    controller, _ = made(work, workers=3)
    async with running(controller):
        for number in range(9):
            controller.add(f"k{number}")
        await asyncio.sleep(0.5)
        assert controller.running().pieces == 3
        assert controller.depth == 6
        await asyncio.sleep(3)
        assert len(work.ended) == 9
    assert work.most == 3


async def test_what_is_added_meanwhile_runs_again_afterwards() -> None:
    work = Work(takes=1)
    controller, _ = made(work, workers=4)
    async with running(controller):
        controller.add("a")
        await asyncio.sleep(0.5)
        controller.add("a")
        controller.add("a")
        await asyncio.sleep(5)
    assert [round(at, 3) for at, _ in work.calls] == [0, 1]


async def test_a_key_that_never_rests_starves_nobody() -> None:
    controller: Controller[str]

    def again(key: str, _number: int) -> Result:
        if key == "hot":
            controller.add("hot")
        return Result()

    work = Work(takes=0.01, then=again)
    controller, _ = made(work)
    async with running(controller):
        controller.add("hot")
        await asyncio.sleep(0.1)
        for number in range(20):
            controller.add(f"k{number}")
        await asyncio.sleep(0.3)
        assert {key for _, key in work.calls} == {"hot", *(f"k{number}" for number in range(20))}


async def test_requeue_after_looks_again_then() -> None:
    work = Work(then=lambda _key, number: Result(30) if number < 3 else Result())
    controller, meter = made(work)
    async with running(controller):
        controller.add("a")
        await asyncio.sleep(200)
    assert [round(at, 3) for at, _ in work.calls] == [0, 30, 60]
    assert meter.outcomes == {Outcome.REQUEUE_AFTER: 2, Outcome.SUCCESS: 1}


async def test_at_once_is_slowed_down_where_it_never_ends() -> None:
    work = Work(then=lambda _key, _number: Result(0))
    controller, meter = made(work)
    async with running(controller):
        controller.add("a")
        await asyncio.sleep(0.004)
        assert len(work.calls) == 1
        await asyncio.sleep(0.002)
        assert len(work.calls) == 2
        await asyncio.sleep(10)
        assert len(work.calls) == 11  # 5 ms, 10, 20, … 5.12 s
    assert set(meter.outcomes) == {Outcome.REQUEUE}


async def test_what_may_pass_is_tried_again_and_success_forgets() -> None:
    def stumble(_key: str, number: int) -> Result:
        if number % 4:
            raise RetryableError("conflict", after=1 if number == 1 else 0)
        return Result()

    work = Work(then=stumble)
    controller, meter = made(work)
    with capture_logs() as logs:
        async with running(controller):
            controller.add("a")
            await asyncio.sleep(10)
            assert [round(at, 3) for at, _ in work.calls] == [0, 1, 1.01, 1.03]
            controller.add("a")
            await asyncio.sleep(10)
    # The back-off has begun anew.
    assert [round(at - 11.031, 2) for at, _ in work.calls[4:]] == pytest.approx([0, 0.005, 0.015, 0.035], abs=1.1)
    assert [round(b - a, 3) for (a, _), (b, _) in zip(work.calls[4:], work.calls[5:], strict=False)] == [
        0.005,
        0.01,
        0.02,
    ]
    assert meter.outcomes == {Outcome.ERROR: 6, Outcome.SUCCESS: 2}
    assert meter.retried["shop"] == 6
    assert logs[0] == {
        "event": "reconcile_retried",
        "log_level": "warning",
        "controller": "shop",
        "key": "a",
        "failures": 1,
        "error": "conflict",
        "after_s": 1,
    }


async def test_what_is_permanent_waits_for_a_change() -> None:
    def refuse(_key: str, _number: int) -> Result:
        raise PermanentError("Invalid", "no such backend")

    work = Work(then=refuse)
    controller, meter = made(work)
    with capture_logs() as logs:
        async with running(controller):
            controller.add("a")
            await asyncio.sleep(5000)
            assert len(work.calls) == 1
            controller.add("a")
            await asyncio.sleep(1)
            assert len(work.calls) == 2
    assert meter.outcomes == {Outcome.TERMINAL: 2}
    assert (logs[0]["event"], logs[0]["reason"]) == ("reconcile_given_up", "Invalid")


async def test_a_fault_of_ours_ends_nothing_and_is_logged_with_its_place() -> None:
    def broken(key: str, number: int) -> Result:
        if key == "bad" and number < 3:
            raise ZeroDivisionError
        return Result()

    work = Work(then=broken)
    controller, meter = made(work)
    with capture_logs() as logs:
        async with running(controller):
            controller.add("bad")
            controller.add("good")
            await asyncio.sleep(1)
    assert [key for _, key in work.calls] == ["bad", "good", "bad", "bad"]
    assert meter.outcomes == {Outcome.ERROR: 2, Outcome.SUCCESS: 2}
    assert [(each["event"], each["exc_info"]) for each in logs] == [("reconcile_failed", True)] * 2


async def test_the_end_lets_running_work_end_and_begins_nothing() -> None:
    work = Work(takes=5)
    controller, meter = made(work, workers=2)
    async with running(controller):
        for key in "abc":
            controller.add(key)
        await asyncio.sleep(1)
    assert work.ended == ["a", "b"]
    assert now() == pytest.approx(5)
    assert controller.depth == 1
    assert meter.outcomes == {Outcome.SUCCESS: 2}


async def test_what_does_not_end_is_cut_off_and_waits_for_the_next_run() -> None:
    work = Work(takes=50)
    controller, meter = made(work, grace=10)
    async with running(controller):
        controller.add("a")
        await asyncio.sleep(1)
    assert now() == pytest.approx(11)
    assert work.ended == []
    assert controller.running().pieces == 0
    assert meter.outcomes == {}
    async with running(controller):
        await asyncio.sleep(60)
    assert work.ended == ["a"]


async def test_delays_go_on_between_two_runs() -> None:
    work = Work()
    controller, _ = made(work)
    async with running(controller):
        controller.add_after("a", 100)
        await asyncio.sleep(50)
    await asyncio.sleep(10)
    async with running(controller):
        await asyncio.sleep(100)
    assert [(round(at, 3), key) for at, key in work.calls] == [(100, "a")]


async def test_an_earlier_delay_moves_the_timer() -> None:
    work = Work()
    controller, _ = made(work)
    async with running(controller):
        controller.add_after("late", 100)
        controller.add_after("soon", 1)
        await asyncio.sleep(2)
        assert [key for _, key in work.calls] == ["soon"]
        await asyncio.sleep(100)
    assert [key for _, key in work.calls] == ["soon", "late"]


def test_uvloops_timers_end_early_and_keep_nobody_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """They end at a whole millisecond, that may be before the delay's end."""
    rung: list[float] = []
    ripe = Controller._ripe

    def counted(self: Controller[str]) -> None:
        rung.append(time.monotonic())
        ripe(self)

    monkeypatch.setattr(Controller, "_ripe", counted)

    async def look(work: Work) -> None:
        controller: Controller[str] = Controller("shop", work, Counting(), limits=EXACT)
        async with running(controller):
            controller.add("a")
            await asyncio.sleep(0.5)

    work = Work(then=lambda _key, _number: Result(0.0103))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(look(work))
    assert len(work.calls) > 5
    assert len(rung) < 3 * len(work.calls)

"""The sampler in virtual time: intervals, deadline, how long a value lives, what is told, and the breaker's pauses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from observers.base import Sampling
from observers.sampler import Answer, Failure, Nothing, Sampler, TargetError, Value
from tests.support.lag_watch import Meter
from xds_server.ir.facts import LagQuery, Observation, Query

pytestmark = pytest.mark.looptime

ONE, TWO = LagQuery("default", "one", ("a",)), LagQuery("default", "two", ("a",))
SAMPLING = Sampling(interval=5.0, timeout=3.0, ttl=15.0, failures=3, reset=30.0)
START = 1_000_000.0
"""The clock on the wall when a test begins."""


class Target:
    """Answers as the test wants; an exception is raised, None means that nothing ever comes."""

    def __init__(self) -> None:
        self.answer: Answer | Exception | None = Value(7.0)
        self.others: dict[Query, Answer] = {}
        self.asked: list[float] = []

    async def ask(self, queries: Collection[Query]) -> Mapping[Query, Answer]:
        self.asked.append(asyncio.get_running_loop().time())
        if self.answer is None:
            await asyncio.Event().wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        assert self.answer is not None
        return {query: self.others.get(query, self.answer) for query in queries}


class Bench:
    """A sampler that runs, and what it told."""

    def __init__(self, target: Target, sampler: Sampler, meter: Meter) -> None:
        self.target = target
        self.sampler = sampler
        self.meter = meter
        self.told: list[Observation] = []

    def report(self, observations: Sequence[Observation]) -> None:
        self.told += observations

    def now(self, query: Query = ONE) -> Observation:
        return next(each for each in self.sampler.observations() if each.query == query)


@asynccontextmanager
async def running(monkeypatch: pytest.MonkeyPatch, *queries: Query) -> AsyncIterator[Bench]:
    loop = asyncio.get_running_loop()
    monkeypatch.setattr("circuitbreaker.monotonic", loop.time)
    monkeypatch.setattr("observers.sampler.JITTER", 0.0)
    target, meter = Target(), Meter()
    sampler = Sampler(
        "kafka",
        "default",
        target.ask,
        sampling=SAMPLING,
        meter=meter,
        clock=loop.time,
        wall=lambda: START + loop.time(),
    )
    bench = Bench(target, sampler, meter)
    sampler.want(queries)
    task = asyncio.create_task(sampler.run(bench.report))
    yield bench
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])


async def test_a_round_for_each_interval_whatever_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [LagQuery("default", f"g{number}") for number in range(500)]
    async with running(monkeypatch, *many) as bench:
        await asyncio.sleep(51)
    assert bench.target.asked == [pytest.approx(5.0 * number) for number in range(11)]
    assert len(bench.meter.rounds) == 11


async def test_the_interval_is_jittered(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch, ONE) as bench:
        monkeypatch.setattr("observers.sampler.JITTER", 0.1)
        await asyncio.sleep(500)
    gaps = [round(after - before, 3) for before, after in zip(bench.target.asked, bench.target.asked[1:], strict=False)]
    assert min(gaps) >= 4.5
    assert max(gaps) <= 5.5
    assert len(set(gaps)) > 20


async def test_nothing_wanted_nothing_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch) as bench:
        await asyncio.sleep(60)
        assert bench.target.asked == []
        bench.sampler.want([ONE])
        await asyncio.sleep(1)
        assert bench.target.asked == [60.0], "asked at once"
        bench.sampler.want([])
        await asyncio.sleep(60)
        assert len(bench.target.asked) == 1


async def test_before_the_first_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch, ONE) as bench:
        assert bench.now() == Observation(ONE, None, unknown="not sampled yet", state="not sampled yet")
        await asyncio.sleep(1)
        assert bench.now() == Observation(ONE, 7.0, sampled=START)


async def test_a_value_is_kept_for_its_time_and_marked_then_it_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch, ONE) as bench:
        await asyncio.sleep(1)
        bench.target.answer = TargetError("unreachable", "h:9092: gone")
        await asyncio.sleep(5)
        kept = Observation(ONE, 7.0, None, None, START, "unreachable", "closed", "h:9092: gone")
        assert bench.now() == kept
        await asyncio.sleep(8.9)
        assert bench.now().value == 7.0
        await asyncio.sleep(0.2)
        assert bench.now().value is None, "15 s after it was taken, to the point, and not at the next round"
        assert bench.now().unknown == "h:9092: gone"
        assert bench.now().sampled == START, "its age goes on growing"
        await asyncio.sleep(5)
        unwell = [(each.value, each.state) for each in bench.told if each.value is None or each.detail]
        assert list(dict.fromkeys(unwell)) == [
            (None, "not sampled yet"),
            (7.0, "unreachable"),
            (None, "unreachable"),
        ]


async def test_a_round_that_takes_too_long_has_failed_and_the_next_is_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch, ONE) as bench:
        bench.target.answer = None
        await asyncio.sleep(4)
        assert bench.now().state == "timeout"
        assert bench.now().unknown == "no answer within 3 s"
        bench.target.answer = Value(1.0)
        await asyncio.sleep(2)
        assert bench.now().value == 1.0
    assert bench.target.asked == [0.0, 5.0]
    assert [took for _, took in bench.meter.rounds] == [3.0, 0.0]


async def test_no_value_is_told_at_once_and_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch, ONE) as bench:
        await asyncio.sleep(1)
        bench.target.answer = Nothing("no such group", "there is no group one")
        await asyncio.sleep(100)
        assert bench.now() == Observation(
            ONE, None, None, "there is no group one", START, "no such group", "closed", "there is no group one"
        )
        assert not bench.meter.failures
        assert len(bench.target.asked) == 21


async def test_one_query_that_fails_does_not_touch_the_others_nor_the_breaker(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch, ONE, TWO) as bench:
        bench.target.others[TWO] = Failure("denied", "group two: denied")
        await asyncio.sleep(101)
        assert bench.now(ONE).value == 7.0
        assert (bench.now(TWO).value, bench.now(TWO).state, bench.now(TWO).breaker) == (None, "denied", "closed")
        assert bench.meter.failures == {("default", "denied"): 21}


async def test_the_breaker_leaves_a_target_alone_and_probes_once_per_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch, ONE) as bench:
        bench.target.answer = TargetError("unreachable", "gone")
        await asyncio.sleep(99)
        assert bench.target.asked == pytest.approx([0.0, 5.0, 10.0, 40.0, 70.0], abs=5.1)
        assert bench.now().breaker == "open"
        bench.target.answer = Value(3.0)
        await asyncio.sleep(12)
        assert (bench.now().value, bench.now().breaker) == (3.0, "closed")
        told = [each.breaker for each in bench.told]
        assert [one for one, two in zip(told, ["", *told], strict=False) if one != two] == [
            "closed",
            *["open", "half_open"] * 3,
            "closed",
        ]


async def test_an_error_of_ours_or_of_a_library_is_a_failed_round(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch, ONE) as bench:
        bench.target.answer = KeyError("x")
        await asyncio.sleep(1)
        assert (bench.now().state, bench.now().unknown) == ("error", "KeyError: 'x'")
        bench.target.answer = Value(1.0)
        await asyncio.sleep(5)
        assert bench.now().value == 1.0


async def test_what_is_not_wanted_any_more_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch, ONE, TWO) as bench:
        await asyncio.sleep(1)
        bench.sampler.want([TWO])
        await asyncio.sleep(5)
        assert [each.query for each in bench.sampler.observations()] == [TWO]
        bench.sampler.want([ONE, TWO])
        assert bench.now(ONE).state == "not sampled yet"

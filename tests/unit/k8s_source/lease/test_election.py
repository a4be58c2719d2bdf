"""The election's shell under virtual time: taking over, losing, releasing, hanging calls, blocked loops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from k8s_source.lease.election import Election, elapsed, own_identity
from k8s_source.lease.elector import Timings
from k8s_source.lease.record import Record
from tests.support.leases import SlowLock, Store

pytestmark = pytest.mark.looptime


def now() -> float:
    return asyncio.get_running_loop().time()


class Replica:
    """An election with what it leads: when that began and ended. Its end takes `lingers` seconds."""

    def __init__(self, store: Store, name: str, offset: float = 0.0, skew: float = 0.0, lingers: float = 0.0) -> None:
        self.lock = SlowLock(store)
        self.spans: list[list[float]] = []
        self.lingers = lingers
        self.jump = 0.0
        self.election = Election(
            self.lock,
            Timings(),
            name,
            self.lead,
            clock=lambda: now() + offset + self.jump,
            wall=lambda: 1e9 + now() + skew,
            chance=lambda: 0.5,
        )

    async def lead(self) -> None:
        self.spans.append([now()])
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(self.lingers)
            self.spans[-1].append(now())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.election.run())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])


async def test_one_leads_and_the_other_waits_for_its_release() -> None:
    store = Store()
    a, b = Replica(store, "a"), Replica(store, "b", offset=1e6, skew=-86400)
    async with a.running() as first:
        await asyncio.sleep(1)
        async with b.running():
            await asyncio.sleep(100)
            assert (a.election.is_leader(), b.election.is_leader()) == (True, False)
            assert a.election.leader == b.election.leader == "a"
            assert store.history[-1].transitions == 0
            assert store.history[-1].acquired == store.history[0].acquired
            assert store.history[-1].renewed > store.history[0].renewed
            first.cancel()
            released = now()
            await asyncio.sleep(5)
            assert b.election.is_leader()
            assert b.spans[0][0] - released < 4.5
            assert store.history[-1].transitions == 1
        assert b.spans[0][1] == pytest.approx(now(), abs=0.1)
        assert store.seen is not None
        assert (store.seen.record.holder, store.seen.record.duration) == ("", 1)


async def test_a_leader_renews_by_one_call_each_period() -> None:
    a = Replica(Store(), "a")
    async with a.running():
        await asyncio.sleep(60)
        assert a.lock.calls[:2] == ["get", "create"]
        assert set(a.lock.calls[2:]) == {"update"}
        assert 27 <= len(a.lock.calls) <= 32


async def test_who_dies_is_followed_within_a_lease_and_a_retry() -> None:
    store = Store()
    a, b = Replica(store, "a"), Replica(store, "b")
    async with a.running():
        await asyncio.sleep(1)
        async with b.running():
            await asyncio.sleep(30)
            assert a.election.is_leader()
            a.lock.fail = lambda _call: True  # nothing of it arrives any more, its release neither
            last = now()
            await asyncio.sleep(25)
            assert b.election.is_leader()
            assert b.spans[0][0] - last < 15 + 4.4 + 0.1
            assert a.spans[0][1] < b.spans[0][0]


async def test_an_outage_ends_leadership_by_the_deadline_and_it_comes_back() -> None:
    store = Store()
    a = Replica(store, "a")
    with capture_logs() as logs:
        async with a.running():
            await asyncio.sleep(30)
            a.lock.fail = lambda _call: True
            began = now()
            await asyncio.sleep(20)
            assert a.spans[0][1] - began <= 10
            assert not a.election.is_leader()
            a.lock.fail = lambda _call: False
            await asyncio.sleep(5)
            assert a.election.is_leader()
            assert len(a.spans) == 2
    told = [each["event"] for each in logs]
    assert told.count("lease_not_renewed") == 1  # of all tries
    assert told.count("leadership_lost") == 1
    assert store.history[-2].transitions == 0  # nobody else had it


async def test_a_call_that_hangs_does_not_hold_up_the_end_of_leadership() -> None:
    a = Replica(Store(), "a")
    async with a.running():
        await asyncio.sleep(30)
        a.lock.delay = 1e6
        began = now()
        await asyncio.sleep(12)
        assert a.spans[0][1] - began <= 10
        assert a.lock.calls.count("update") <= 20


async def test_a_slow_answer_counts_from_when_it_was_asked_for() -> None:
    a = Replica(Store(), "a")
    a.lock.delay = 2
    async with a.running():
        await asyncio.sleep(4.1)
        assert a.election.is_leader()
        assert a.election.remaining() == pytest.approx(10 - 2 - 0.1)


async def test_an_answer_that_is_lost_costs_nothing() -> None:
    a = Replica(Store(), "a")
    async with a.running():
        await asyncio.sleep(10)
        lost = iter([True, True])
        a.lock.lose = lambda call: call == "update" and next(lost, False)
        await asyncio.sleep(30)
        assert a.election.is_leader()
        assert len(a.spans) == 1


async def test_a_change_by_others_is_a_conflict_that_is_looked_at_at_once() -> None:
    store = Store()
    a = Replica(store, "a")
    async with a.running():
        await asyncio.sleep(10)
        assert store.seen is not None
        store.write(store.seen, store.seen.record)  # a label, say
        await asyncio.sleep(1)
        assert a.lock.calls[-3:] == ["update", "get", "update"]
        assert len(a.spans) == 1
        assert store.seen is not None
        store.write(store.seen, Record("x", 15, "", "", 7))
        await asyncio.sleep(3)
        assert not a.election.is_leader()
        assert a.election.leader == "x"
        await asyncio.sleep(20)
        assert a.election.is_leader()
        assert store.history[-1].transitions == 8


async def test_who_was_stopped_for_long_is_no_leader_when_it_goes_on() -> None:
    store = Store()
    a, b = Replica(store, "a"), Replica(store, "b")
    async with a.running():
        await asyncio.sleep(30.5)
        a.jump = 20  # its clock went on, and nothing else of it
        assert not a.election.is_leader()
        await asyncio.sleep(5)
        assert len(a.spans) == 2
        assert a.spans[0][1] <= a.spans[1][0]
        assert b.spans == []


async def test_the_lease_is_released_after_the_work_has_ended() -> None:
    store = Store()
    a, b = Replica(store, "a", lingers=8), Replica(store, "b")
    async with a.running() as task:
        await asyncio.sleep(1)
        async with b.running():
            await asyncio.sleep(10)
            task.cancel()
            await asyncio.sleep(7)
            assert not a.election.is_leader()
            assert b.spans == []
            await asyncio.sleep(8)
            assert a.spans[0][1] < b.spans[0][0]


async def test_work_that_outlasts_the_lease_is_told_and_does_not_run_twice() -> None:
    a = Replica(Store(), "a", lingers=40)
    with capture_logs() as logs:
        async with a.running():
            await asyncio.sleep(1)
            a.lock.fail = lambda _call: now() < 20
            await asyncio.sleep(100)
            assert len(a.spans) == 2
            assert a.spans[0][1] <= a.spans[1][0]
    assert "leaders_work_outlasts_lease" in [each["event"] for each in logs]


async def test_what_fails_while_leading_is_raised_and_the_lease_released() -> None:
    store = Store()
    a = Replica(store, "a")

    async def broken() -> None:
        await asyncio.sleep(3)
        raise ZeroDivisionError

    a.election._lead = broken
    with pytest.raises(ZeroDivisionError):
        await a.election.run()
    assert store.seen is not None
    assert store.seen.record.holder == ""


def test_identities_are_never_the_same() -> None:
    assert own_identity() != own_identity()


def test_the_clock_goes_on() -> None:
    before = elapsed()
    assert elapsed() >= before > 0

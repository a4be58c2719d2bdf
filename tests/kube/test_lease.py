"""Leadership against a real API server: races, a leader that dies, one that leaves, an API server that hangs, clocks that differ."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from k8s_source.client.api import Api
from k8s_source.client.errors import ApiError
from k8s_source.client.times import micro_time
from k8s_source.lease.lock import LeaseLock
from k8s_source.lease.record import Record, Seen
from tests.support import granted
from tests.support.candidate import LEASE, TIMINGS, Candidate, acts
from tests.support.fleet import SLACK
from tests.support.kube import Kube, StartKube

DAY = 86400.0

Start = Callable[..., Candidate]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a candidate: cluster, namespace, name, and how far its wall clock is off."""
    started: list[Candidate] = []

    def one(kube: Kube, namespace: str, name: str, skew: float = 0.0) -> Candidate:
        started.append(Candidate(tmp_path, granted.kubeconfig(kube, namespace), namespace, name, skew))
        return started[-1]

    yield one
    for each in started:
        each.process.stop()


def until(is_so: Callable[[], object], what: str, within: float = 20.0) -> None:
    end = time.monotonic() + within * SLACK
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def record(holder: str, number: int = 0) -> Record:
    return Record(holder, 15, micro_time(0), micro_time(number), number)


async def test_of_those_that_race_one_wins(api: Api, namespace: str) -> None:
    locks = [LeaseLock(api, namespace, LEASE) for _ in range(5)]
    assert await locks[0].get() is None
    made = await asyncio.gather(*(each.create(record("a")) for each in locks), return_exceptions=True)
    seen = _winner(made)
    for round_ in range(10):
        tried = await asyncio.gather(
            *(lock.update(seen, record(f"r{number}", round_)) for number, lock in enumerate(locks)),
            return_exceptions=True,
        )
        won = _winner(tried)
        assert await locks[0].get() == won
        seen = won


def _winner(outcomes: list[Seen | BaseException]) -> Seen:
    """The one that went well; all others are conflicts."""
    (won,) = (each for each in outcomes if isinstance(each, Seen))
    others = [each for each in outcomes if isinstance(each, ApiError)]
    assert len(others) == len(outcomes) - 1
    assert all(each.is_conflict for each in others)
    return won


def test_the_leader_is_killed_and_another_takes_over(kube: Kube, namespace: str, start: Start) -> None:
    """Their wall clocks are two days apart, which must not matter."""
    first = start(kube, namespace, "first", -DAY)
    until(lambda: first.told("acted"), "the first leads")
    others = [start(kube, namespace, "fast", DAY), start(kube, namespace, "right")]
    until(lambda: all("leader=first" in each.process.printed for each in others), "the others wait")
    time.sleep(1.2 * TIMINGS.lease_duration)
    assert acts(others) == []  # however long it holds the lease
    first.process.kill()
    killed = time.monotonic()
    until(lambda: acts(others), "another one leads")
    took = acts(others)[0][1] - killed
    assert took < TIMINGS.lease_duration + 2.2 * TIMINGS.retry_period + 0.5 * SLACK
    assert took > TIMINGS.lease_duration - TIMINGS.retry_period - 0.5 * SLACK  # its lease was respected
    lease = kube.client.get("coordination.k8s.io/v1", "Lease", LEASE, namespace)
    assert lease["spec"]["leaseTransitions"] == 1
    time.sleep(TIMINGS.renew_deadline)
    assert len({name for name, _ in acts(others)}) == 1


def test_a_leader_that_leaves_is_followed_at_once(kube: Kube, namespace: str, start: Start) -> None:
    first = start(kube, namespace, "first", DAY)
    until(lambda: first.told("acted"), "the first leads")
    second = start(kube, namespace, "second", -DAY)
    until(lambda: "leader=first" in second.process.printed, "the second waits")
    first.process.stop()
    left = first.told("ended")[0]
    until(lambda: second.told("acted"), "the second leads")
    assert second.told("acted")[0] - left < 2.2 * TIMINGS.retry_period + 0.5 * SLACK
    second.process.stop()
    lease = kube.client.get("coordination.k8s.io/v1", "Lease", LEASE, namespace)
    assert lease["spec"].get("holderIdentity", "") == ""
    assert lease["spec"]["leaseTransitions"] == 1


def test_an_api_server_that_hangs_ends_leadership_by_the_deadline(own_kube: StartKube, start: Start) -> None:
    kube = own_kube()
    both = [start(kube, "default", "first"), start(kube, "default", "second")]
    until(lambda: acts(both), "one leads")
    time.sleep(TIMINGS.retry_period * 3)
    kube.freeze()
    frozen = time.monotonic()
    time.sleep(TIMINGS.renew_deadline + 2 * SLACK)
    last = acts(both)[-1][1]
    assert last - frozen < TIMINGS.renew_deadline
    assert sum(len(each.told("ended")) for each in both) == 1
    kube.thaw()
    until(lambda: acts(both)[-1][1] > last, "one leads again")
    _never_two(both)


def test_a_leader_that_was_stopped_does_not_act_when_it_goes_on(kube: Kube, namespace: str, start: Start) -> None:
    """It wakes up after its lease has gone to another: what it does first is to see that it is no leader."""
    both = [start(kube, namespace, "first"), start(kube, namespace, "second")]
    until(lambda: acts(both), "one leads")
    leader, other = sorted(both, key=lambda each: not each.told("acted"))
    leader.process.freeze()
    until(lambda: other.told("acted"), "the other leads")
    leader.process.thaw()
    until(lambda: leader.told("ended"), "what the leader did ends")
    time.sleep(TIMINGS.renew_deadline)
    _never_two(both)


def _never_two(candidates: list[Candidate]) -> None:
    """Who acts goes on with it until the end of its time: the acts of two never mix."""
    names = [name for name, _ in acts(candidates)]
    turns = sum(one != two for one, two in pairwise(names))
    assert turns <= 1

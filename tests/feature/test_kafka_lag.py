"""Kafka lag with no Kafka installed: readings and outages against librdkafka's mock cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.counts import long_or_short
from tests.support.kafka_data import commit, produce
from tests.support.kafka_mock import mock_cluster
from tests.support.kafka_process import BrokerProcess
from tests.support.lag_watch import FAST, Watcher, at, watching
from xds_server.ir.facts import LagQuery, NoCommit, Observation

ORDERS = LagQuery("default", "orders-consumer", ("orders",))
PARTITIONS = 4
"""What the mock cluster gives every topic."""


@pytest.fixture
def mock(tmp_path: Path) -> Iterator[tuple[BrokerProcess, str]]:
    with mock_cluster(tmp_path) as found:
        yield found


async def seed(bootstrap: str) -> None:
    """1,000 records in three partitions, 400 of them consumed from two."""
    await produce(bootstrap, {("orders", 0): 334, ("orders", 1): 333, ("orders", 2): 333})
    await commit(bootstrap, "orders-consumer", {("orders", 0): 334, ("orders", 1): 66})


def fresh(observation: Observation) -> bool:
    return observation.value is not None and not observation.detail


async def test_lag_is_end_minus_commit_and_what_has_no_commit_goes_by_policy(mock: tuple[BrokerProcess, str]) -> None:
    await seed(mock[1])
    async with watching({"default": at(mock[1])}, [ORDERS]) as watcher:
        found = await watcher.until(ORDERS, fresh)
    assert found.counted(NoCommit.EARLIEST) == 600
    assert found.counted(NoCommit.LATEST) == 267
    assert (found.state, found.breaker, found.unknown) == ("no offset yet", "closed", None)


async def test_many_topics_and_groups_share_a_round(mock: tuple[BrokerProcess, str]) -> None:
    await seed(mock[1])
    await produce(mock[1], {("pay", 3): 7})
    everything = {("pay", number): 0 for number in range(PARTITIONS)}
    await commit(mock[1], "orders-consumer", everything)
    both = LagQuery("default", "orders-consumer", ("orders", "pay"))
    other = LagQuery("default", "other", ("pay",))
    async with watching({"default": at(mock[1])}, [ORDERS, both, other]) as watcher:
        found = {query: (await watcher.until(query, fresh)).value for query in (ORDERS, both, other)}
    assert found == {ORDERS: 600, both: 607, other: 7}
    assert len(watcher.observer.observations()) == 3


async def test_a_query_without_topics_is_never_zero_for_want_of_an_answer(mock: tuple[BrokerProcess, str]) -> None:
    """The mock cluster can't say what a group has commits for: its answer has an odd shape, and costs others nothing."""
    await seed(mock[1])
    every = LagQuery("default", "orders-consumer")
    async with watching({"default": at(mock[1])}, [every, ORDERS]) as watcher:
        found = await watcher.until(every, lambda each: each.state == "error")
        assert (found.value, found.breaker) == (None, "closed")
        assert "commits of group orders-consumer: the answer can't be read" in str(found.unknown)
        assert (await watcher.until(ORDERS, fresh)).value == 600


async def test_a_cluster_that_is_not_configured_is_told(mock: tuple[BrokerProcess, str]) -> None:
    await seed(mock[1])
    lost = LagQuery("elsewhere", "g", ("orders",))
    async with watching({"default": at(mock[1])}, [lost, ORDERS]) as watcher:
        await watcher.until(ORDERS, fresh)
        assert watcher.of(lost)[0].state == watcher.now(lost).state == "no such cluster"
        assert watcher.now(lost).unknown == "observers.kafka.clusters has no elsewhere"


async def test_frozen_broker_value_kept_until_ttl_then_unknown_and_one_probe_per_reset(
    mock: tuple[BrokerProcess, str],
) -> None:
    broker, bootstrap = mock
    await seed(bootstrap)
    async with watching({"default": at(bootstrap)}, [ORDERS]) as watcher:
        last = await watcher.until(ORDERS, fresh)
        broker.freeze()
        stale = await watcher.until(ORDERS, lambda each: each.state == "timeout")
        assert stale.value == 600, "kept while it may be used"
        assert stale.sampled >= last.sampled
        gone = await watcher.until(ORDERS, lambda each: each.value is None)
        assert gone.unknown
        assert gone.sampled == stale.sampled, "the age is that of the last value"
        for _ in range(2):
            await watcher.until(ORDERS, lambda each: each.breaker == "half_open")
            asked = len(watcher.meter.rounds)
            await watcher.until(ORDERS, lambda each: each.breaker == "open")
            assert len(watcher.meter.rounds) == asked + 1
        broker.thaw()
        assert (await watcher.until(ORDERS, fresh)).value == 600
        assert watcher.now(ORDERS).breaker == "closed"


async def test_killed_broker_is_unknown_and_says_why(mock: tuple[BrokerProcess, str]) -> None:
    broker, bootstrap = mock
    await seed(bootstrap)
    async with watching({"default": at(bootstrap)}, [ORDERS]) as watcher:
        await watcher.until(ORDERS, fresh)
        broker.kill()
        stale = await watcher.until(ORDERS, lambda each: each.state == "unreachable")
        assert stale.value == 600
        gone = await watcher.until(ORDERS, lambda each: each.value is None)
    assert gone.unknown is not None
    assert "127.0.0.1" in gone.unknown
    assert {reason for _, reason in watcher.meter.failures} == {"unreachable"}


async def test_broker_down_at_start_is_asked_until_it_is_there(tmp_path: Path) -> None:
    with mock_cluster(tmp_path) as (broker, bootstrap):
        await seed(bootstrap)
        broker.freeze()
        async with watching({"default": at(bootstrap)}, [ORDERS]) as watcher:
            down = await watcher.until(ORDERS, lambda each: each.state == "timeout")
            assert (down.value, down.sampled) == (None, 0.0)
            broker.thaw()
            assert (await watcher.until(ORDERS, fresh)).value == 600


@pytest.mark.timeout(300)
async def test_connections_do_not_grow_over_outages(mock: tuple[BrokerProcess, str]) -> None:
    await outages(*mock, long_or_short(20, 4))


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_connections_do_not_grow_over_two_hundred_outages(mock: tuple[BrokerProcess, str]) -> None:
    await outages(*mock, 200)


async def outages(broker: BrokerProcess, bootstrap: str, count: int) -> None:
    await seed(bootstrap)
    brief = replace(FAST, timeout=0.5, ttl=0.3, failures=2, reset=0.3)
    async with watching({"default": at(bootstrap)}, [ORDERS], brief) as watcher:
        await watcher.until(ORDERS, fresh)
        before = descriptors()
        for _ in range(count):
            broker.freeze()
            await watcher.until(ORDERS, lambda each: each.value is None)
            broker.thaw()
            await recovered(watcher)
        assert watcher.observer.connections == 1
        assert descriptors() <= before + 2


async def recovered(watcher: Watcher) -> None:
    found = await watcher.until(ORDERS, fresh, 20)
    assert found.value == 600


def descriptors() -> int:
    """How many files and sockets this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))

"""A broker that is away, hangs, or comes back: what was known stays as long as it may, and nothing wrong is ever told."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from observers.base import Sampling
from observers.kafka_lag.options import ClusterOptions
from tests.kafka.broker import Kafka, free_ports
from tests.support.counts import long_or_short
from tests.support.kafka_data import commit, produce
from tests.support.lag_watch import FAST, SLACK, Watcher, at, watching
from xds_server.ir.facts import LagQuery, Observation

ORDERS = LagQuery("default", "orders-consumer", ("orders",))
LAG = 500


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A broker with a topic, and a group that lags; each test leaves it running."""
    broker = Kafka(tmp_path_factory.mktemp("kafka"))
    broker.start()
    asyncio.run(seed(broker))
    yield broker
    broker.stop()


async def seed(kafka: Kafka) -> None:
    client = AIOKafkaAdminClient(bootstrap_servers=kafka.address())
    await client.start()
    await client.create_topics([NewTopic("orders", 3, 1)])
    await client.close()
    await asyncio.sleep(1)
    await produce(kafka.address(), {("orders", 0): 400, ("orders", 1): 300, ("orders", 2): 300})
    await commit(kafka.address(), "orders-consumer", {("orders", 0): 400, ("orders", 1): 100, ("orders", 2): 0})


@pytest.fixture(autouse=True)
async def restored(kafka: Kafka) -> AsyncIterator[None]:
    """Leave a broker that runs to the next test."""
    yield
    if kafka.process.running:
        kafka.process.thaw()
    else:
        await asyncio.to_thread(kafka.start)


def fresh(each: Observation) -> bool:
    return each.value is not None and not each.detail


def always_right(watcher: Watcher, query: LagQuery = ORDERS) -> None:
    """No sample was ever anything but the lag."""
    assert {each.value for each in watcher.of(query)} <= {None, float(LAG)}


def in_time(watcher: Watcher, sampling: Sampling) -> None:
    """No round took longer than it may."""
    assert max(took for _, took in watcher.meter.rounds) <= sampling.timeout + 0.5 * SLACK


async def test_k82_could_not_ask_is_not_zero(kafka: Kafka) -> None:
    """Killed and started again: the value is held, then unknown; the breaker opens, and one probe finds the way back."""
    async with watching({"default": at(kafka.address())}, [ORDERS]) as watcher:
        last = await watcher.until(ORDERS, fresh)
        kafka.process.kill()
        stale = await watcher.until(ORDERS, lambda each: each.state == "unreachable")
        assert (stale.value, stale.unknown) == (LAG, None)
        gone = await watcher.until(ORDERS, lambda each: each.value is None)
        assert gone.unknown is not None
        assert kafka.address() in gone.unknown
        assert last.sampled <= gone.sampled <= stale.sampled
        await watcher.until(ORDERS, lambda each: each.breaker == "half_open")
        await asyncio.to_thread(kafka.start)
        back = await watcher.until(ORDERS, fresh)
        assert (back.value, back.breaker) == (LAG, "closed")
    told = [each.breaker for each in watcher.of(ORDERS)]
    states = [state for number, state in enumerate(told) if number == 0 or told[number - 1] != state]
    assert states[0] == states[-1] == "closed"
    assert states[1:-1] == ["open", "half_open"] * (len(states[1:-1]) // 2)
    always_right(watcher)
    in_time(watcher, FAST)


async def test_hang_midway_each_round_ends_in_time_and_the_same_broker_is_found_again(kafka: Kafka) -> None:
    async with watching({"default": at(kafka.address())}, [ORDERS]) as watcher:
        await watcher.until(ORDERS, fresh)
        kafka.process.freeze()
        stale = await watcher.until(ORDERS, lambda each: each.state == "timeout")
        assert stale.value == LAG
        await watcher.until(ORDERS, lambda each: each.value is None and each.breaker == "open")
        kafka.process.thaw()
        assert (await watcher.until(ORDERS, fresh)).value == LAG
        assert watcher.observer.connections == 1
    always_right(watcher)
    in_time(watcher, FAST)


async def test_many_groups_while_it_hangs_end_in_one_deadline(kafka: Kafka) -> None:
    """Aiokafka's own client makes them wait one after another behind one lock."""
    queries = [LagQuery("default", f"g{number}", ("orders",)) for number in range(40)]
    async with watching({"default": at(kafka.address())}, queries) as watcher:
        await watcher.until(queries[0], fresh)
        kafka.process.freeze()
        await watcher.until(queries[0], lambda each: each.breaker == "open")
        kafka.process.thaw()
    in_time(watcher, FAST)


async def test_stopping_while_it_hangs_does_not_wait(kafka: Kafka) -> None:
    loop = asyncio.get_running_loop()
    async with watching({"default": at(kafka.address())}, [ORDERS]) as watcher:
        await watcher.until(ORDERS, fresh)
        kafka.process.freeze()
        await watcher.until(ORDERS, lambda each: each.state == "timeout")
        began = loop.time()
    assert loop.time() - began < 0.5 * SLACK
    assert watcher.observer.connections == 0


async def test_broker_hangs_at_start(kafka: Kafka) -> None:
    kafka.process.freeze()
    async with watching({"default": at(kafka.address())}, [ORDERS]) as watcher:
        found = await watcher.until(ORDERS, lambda each: each.state == "timeout")
        assert (found.value, found.sampled) == (None, 0.0)
        kafka.process.thaw()
        assert (await watcher.until(ORDERS, fresh)).value == LAG
    in_time(watcher, FAST)


async def test_graceful_stop_and_start_never_tells_a_wrong_lag(kafka: Kafka) -> None:
    """Meanwhile the coordinator is another or is loading, and answers without commits."""
    rushed = Sampling(interval=0.005, timeout=1.0, ttl=5.0, failures=10_000, reset=1.0)
    every = LagQuery("default", "orders-consumer")
    async with watching({"default": at(kafka.address())}, [ORDERS, every], rushed) as watcher:
        await watcher.until(ORDERS, fresh)
        await asyncio.to_thread(kafka.stop)
        await watcher.until(ORDERS, lambda each: each.state == "unreachable")
        await asyncio.to_thread(kafka.start)
        await watcher.until(ORDERS, fresh)
        await watcher.until(every, fresh)
    always_right(watcher)
    always_right(watcher, every)
    assert "no such group" not in {each.state for each in watcher.told}


@pytest.mark.parametrize(
    ("brokers", "words"),
    [
        ([("127.0.0.1", 0)] * 3, "Connection refused; 127.0.0.1:"),
        ([("kafka.invalid", 9092)], "kafka.invalid:9092"),
    ],
    ids=["three addresses, all down", "a name that does not resolve"],
)
async def test_down_at_start(brokers: list[tuple[str, int]], words: str) -> None:
    ports = free_ports(len(brokers))
    cluster = ClusterOptions(tuple((host, port or free) for (host, port), free in zip(brokers, ports, strict=True)))
    async with watching({"default": cluster}, [ORDERS]) as watcher:
        found = await watcher.until(ORDERS, lambda each: each.state in ("unreachable", "timeout"))
        assert found.value is None
        assert words in str(found.unknown)
        await watcher.until(ORDERS, lambda each: each.breaker == "open")
    in_time(watcher, FAST)


async def test_down_at_start_and_found_when_it_comes(kafka: Kafka) -> None:
    await asyncio.to_thread(kafka.stop)
    async with watching({"default": at(kafka.address())}, [ORDERS]) as watcher:
        await watcher.until(ORDERS, lambda each: each.state == "unreachable")
        await asyncio.to_thread(kafka.start)
        assert (await watcher.until(ORDERS, fresh, 20)).value == LAG
    always_right(watcher)


@pytest.mark.timeout(400)
async def test_memory_and_connections_are_flat_over_outages(kafka: Kafka) -> None:
    await outages(kafka, long_or_short(20, 3))


@pytest.mark.soak
@pytest.mark.timeout(3000)
async def test_memory_and_connections_are_flat_over_two_hundred_outages(kafka: Kafka) -> None:
    await outages(kafka, 200)


async def outages(kafka: Kafka, count: int) -> None:
    """Hangs, each until the value is unknown; the first ones make what stays."""
    brief = replace(FAST, timeout=0.5, ttl=0.3, failures=2, reset=0.3)
    async with watching({"default": at(kafka.address())}, [ORDERS], brief) as watcher:
        await outage(kafka, watcher)
        before, files = objects(), descriptors()
        for _ in range(count):
            await outage(kafka, watcher)
        assert watcher.observer.connections == 1
        assert descriptors() <= files + 2
        assert objects() <= before + 300 + 3 * count, "what grows with outages"
        always_right(watcher)


async def outage(kafka: Kafka, watcher: Watcher) -> None:
    kafka.process.freeze()
    await watcher.until(ORDERS, lambda each: each.value is None)
    kafka.process.thaw()
    await watcher.until(ORDERS, fresh, 20)
    watcher.told.clear()
    watcher.meter.rounds.clear()


def descriptors() -> int:
    """How many files and sockets this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def objects() -> int:
    """How many objects the collector knows."""
    gc.collect()
    return len(gc.get_objects())

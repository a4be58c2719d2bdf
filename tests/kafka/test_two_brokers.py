"""Two brokers, and one of them away: what is on the other one goes on, and a part is never told as the whole."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from statistics import median

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from observers.base import Sampling
from observers.kafka_lag.options import ClusterOptions
from tests.kafka.broker import Kafka
from tests.support.kafka_data import commit, produce
from tests.support.lag_watch import FAST, SLACK, watching
from xds_server.ir.facts import LagQuery, Observation

GROUPS = [f"group-{number}" for number in range(8)]
"""Some are coordinated by one broker and some by the other."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kafka, Kafka]]:
    """The first is the controller too; topics without replicas: `here` on the first, `there` on the other, `both`."""
    one = Kafka(tmp_path_factory.mktemp("one"))
    two = Kafka(tmp_path_factory.mktemp("two"), node=2, voter=one.voter)
    one.start()
    two.start()
    asyncio.run(seed(one))
    yield one, two
    two.stop()
    one.stop()


async def seed(one: Kafka) -> None:
    client = AIOKafkaAdminClient(bootstrap_servers=one.address())
    await client.start()
    topics = {"here": {0: [1]}, "there": {0: [2]}, "both": {0: [1], 1: [2]}}
    await client.create_topics([NewTopic(name, -1, -1, replica_assignments=where) for name, where in topics.items()])
    await client.close()
    await asyncio.sleep(1)
    everywhere = [(name, number) for name, where in topics.items() for number in where]
    await produce(one.address(), dict.fromkeys(everywhere, 50))
    for group in GROUPS:
        await commit(one.address(), group, dict.fromkeys(everywhere, 0))


@pytest.fixture(autouse=True)
async def restored(pair: tuple[Kafka, Kafka]) -> AsyncIterator[None]:
    """Leave two brokers that run to the next test."""
    yield
    two = pair[1]
    if two.process.running:
        two.process.thaw()
    else:
        await asyncio.to_thread(two.start)


@contextmanager
def swallowing() -> Iterator[tuple[str, int]]:
    """An address that takes connections and answers nothing, as one behind a firewall that drops."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()


def fresh(each: Observation) -> bool:
    return each.value is not None and not each.detail


@pytest.mark.parametrize("fault", ["kill", "freeze"])
async def test_k84_one_dead_broker_does_not_stall_the_rest(pair: tuple[Kafka, Kafka], fault: str) -> None:
    """Groups that the dead one coordinates are unknown; those of the other one go on where their topics lie there."""
    brokers = tuple(("127.0.0.1", each.ports["PLAINTEXT"]) for each in pair)
    queries = [of(group, name) for group in GROUPS for name in ("here", "there", "both")]
    sampling = Sampling(interval=1.0, timeout=2.0, ttl=60.0, failures=100, reset=1.0)
    async with watching({"default": ClusterOptions(brokers)}, queries, sampling) as watcher:
        await watcher.until(queries[0], fresh)
        await watcher.rounds(1)
        getattr(pair[1].process, fault)()
        await watcher.rounds(3)
        begin = len(watcher.told)
        await watcher.rounds(4)
        lively = {each.query.group for each in watcher.told[begin:] if fresh(each) and isinstance(each.query, LagQuery)}
        assert lively, "groups of the first broker are sampled on"
        assert lively < set(GROUPS)
        for group in GROUPS:
            expected = ("ok", "partial", "partial") if group in lively else (watcher.now(of(group, "here")).state,) * 3
            assert tuple(watcher.now(of(group, name)).state for name in ("here", "there", "both")) == expected
    assert max(took for _, took in watcher.meter.rounds) <= sampling.timeout + 0.5 * SLACK
    for query in queries:
        whole = 100 if query.topics == ("both",) else 50
        assert {each.value for each in watcher.of(query)} <= {None, float(whole)}, "never a smaller number"


async def test_k84_a_cluster_that_swallows_packets_does_not_delay_another(pair: tuple[Kafka, Kafka]) -> None:
    near = [of(group, "here") for group in GROUPS]
    far = [LagQuery("far", group, ("here",)) for group in GROUPS]
    sampling = Sampling(interval=0.5, timeout=2.0, ttl=60.0, failures=100, reset=1.0)
    with swallowing() as nowhere:
        good = ClusterOptions((("127.0.0.1", pair[0].ports["PLAINTEXT"]),))
        async with watching({"default": good, "far": ClusterOptions((nowhere,))}, [*near, *far], sampling) as watcher:
            await watcher.until(near[0], fresh)
            for _ in range(8):
                await watcher.until(near[0], fresh)
    times = [each.sampled for each in watcher.of(near[0]) if fresh(each)]
    assert median(after - before for before, after in pairwise(times)) == pytest.approx(sampling.interval, rel=0.2)
    assert max(took for _, took in watcher.meter.rounds) <= sampling.timeout + 0.5 * SLACK
    assert {each.value for query in far for each in watcher.of(query)} == {None}


def of(group: str, topic: str) -> LagQuery:
    return LagQuery("default", group, (topic,))


async def test_the_dead_broker_comes_back(pair: tuple[Kafka, Kafka]) -> None:
    one, two = pair
    both = LagQuery("default", GROUPS[0], ("both",))
    cluster = ClusterOptions((("127.0.0.1", one.ports["PLAINTEXT"]),))
    async with watching({"default": cluster}, [both], FAST) as watcher:
        await watcher.until(both, fresh, 20)
        await asyncio.to_thread(two.process.kill)
        gone = await watcher.until(both, lambda each: each.value is None, 20)
        assert gone.unknown
        await asyncio.to_thread(two.start)
        assert (await watcher.until(both, fresh, 20)).value == 100

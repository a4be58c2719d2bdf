"""What a round of sampling Kafka lag costs, up to the verdicts of the routes that watch it.

Kafka is the mock cluster inside librdkafka, in threads of its own; what is timed is the thread of the event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from confluent_kafka import Producer

from observers.judge import Judge
from observers.kafka_lag.cluster import Cluster
from observers.kafka_lag.options import ClusterOptions
from observers.sampler import Value
from xds_server.ir.facts import LagQuery, Observation, Query, RouteKey, Rule, Watch

SIZES = ((200, 200), (1_000, 200), (5_000, 200), (5_000, 50), (5_000, 10))
"""Routes and groups."""

TOPICS = 20
PARTITIONS = 4
"""What the mock cluster gives every topic."""

AT_ONCE = 20
"""Groups that are made at a time."""


class Sampled(msgspec.Struct):
    """One size: calls of a round by request, its processor time and duration, and those of judging what it found."""

    routes: int
    groups: int
    queries: int
    calls: dict[str, int]
    sample_cpu_ms: float
    sample_ms: float
    judge_ms: float


def measure(sizes: Sequence[tuple[int, int]] = SIZES, rounds: int = 20) -> list[Sampled]:
    """The costs at each size."""
    with _broker() as bootstrap:
        asyncio.run(_seed(bootstrap, max(groups for _, groups in sizes)))
        return [asyncio.run(_measure(bootstrap, routes, groups, rounds)) for routes, groups in sizes]


async def _measure(bootstrap: str, routes: int, groups: int, rounds: int) -> Sampled:
    host, _, port = bootstrap.rpartition(":")
    cluster = Cluster(ClusterOptions(((host, int(port)),)), 10.0, 6)
    calls = _counted(cluster)
    judge = _judge(routes, groups)
    queries = judge.queries("kafka")
    await cluster.ask(queries)
    cpu, took, judged = [], [], []
    for _ in range(rounds):
        calls.clear()
        started, used = time.perf_counter(), time.thread_time()
        answers = await cluster.ask(queries)
        took.append(time.perf_counter() - started)
        cpu.append(time.thread_time() - used)
        observations = [_observation(query, answer) for query, answer in answers.items()]
        used = time.thread_time()
        judge.take(observations)
        judged.append(time.thread_time() - used)
    await cluster.close()
    figures = (median(each) * 1e3 for each in (cpu, took, judged))
    return Sampled(routes, groups, len(queries), dict(sorted(calls.items())), *figures)


def _judge(routes: int, groups: int) -> Judge:
    """Watches of all routes, spread over the groups."""
    judge = Judge(time.time, asyncio.get_running_loop().call_later, lambda _: None, lambda _, __: None, lambda _: None)
    judge.follow(
        {
            RouteKey("bench", "gateway", f"route-{number}"): Watch(_query(number % groups), Rule(1e9, 8e8))
            for number in range(routes)
        }
    )
    return judge


def _query(group: int) -> LagQuery:
    return LagQuery("default", f"group-{group}", (f"topic-{group % TOPICS}",))


def _observation(query: Query, answer: object) -> Observation:
    if not isinstance(answer, Value):
        raise TypeError(f"{query}: {answer}")
    return Observation(query, answer.value, answer.committed, sampled=time.time(), state=answer.state)


def _counted(cluster: Cluster) -> Counter[str]:
    """How often the cluster is asked what, from now on."""
    calls: Counter[str] = Counter()
    ask = cluster._connections.ask

    async def counted(address: tuple[str, int], request: Any) -> Any:
        calls[type(request).__name__.removesuffix("Request")] += 1
        return await ask(address, request)

    cluster._connections.ask = counted  # type: ignore[method-assign]
    return calls


@contextmanager
def _broker() -> Iterator[str]:
    """A mock cluster with records in every partition."""
    producer = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=20).brokers.values()
    for topic in range(TOPICS):
        for partition in range(PARTITIONS):
            producer.produce(f"topic-{topic}", b"x", partition=partition)
    producer.flush(20)
    yield f"{broker.host}:{broker.port}"
    producer.close()


async def _seed(bootstrap: str, groups: int) -> None:
    """A commit of every group to every partition of its topic."""
    for first in range(0, groups, AT_ONCE):
        await asyncio.gather(
            *(_commit(bootstrap, _query(group)) for group in range(first, min(first + AT_ONCE, groups)))
        )


async def _commit(bootstrap: str, query: LagQuery) -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=query.group, enable_auto_commit=False)
    await consumer.start()
    offsets: Mapping[Any, int] = {TopicPartition(query.topics[0], number): 0 for number in range(PARTITIONS)}
    consumer.assign(list(offsets))
    await consumer.commit(offsets)
    await consumer.stop()

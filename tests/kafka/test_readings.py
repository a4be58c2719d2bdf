"""What a healthy broker answers, and what is made of it: the lag, the policy for no commits, topics that come and go."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from observers.base import Sampling
from observers.kafka_lag.options import ClusterOptions
from tests.kafka.broker import Kafka
from tests.support.kafka_data import commit, produce
from tests.support.lag_watch import FAST, Watcher, at, watching
from xds_server.ir.facts import LagQuery, NoCommit, Observation

NAMES = (f"t{number}" for number in itertools.count())
"""Each test has a topic of its own."""

SWIFT = Sampling(interval=0.05, timeout=3.0, ttl=5.0, failures=5, reset=1.0)


async def topic(admin: AIOKafkaAdminClient, partitions: int = 3) -> str:
    """A topic that is there."""
    name = next(NAMES)
    await create(admin, name, partitions)
    return name


async def create(admin: AIOKafkaAdminClient, name: str, partitions: int = 3) -> None:
    answer = await admin.create_topics([NewTopic(name, partitions, 1)])
    assert all(code == 0 for _, code, *_ in answer.topic_errors), answer
    for _ in range(100):
        found = [each for each in await admin.describe_topics() if each["topic"] == name]
        if found and all(each["leader"] >= 0 for each in found[0]["partitions"]):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{name} is not led")


async def sample(kafka: Kafka, query: LagQuery, *, read_committed: bool = False) -> Observation:
    """The first thing that is known of a query; a coordinator that is not there yet is waited for."""
    host, _, port = kafka.address().rpartition(":")
    cluster = ClusterOptions(((host, int(port)),), read_committed=read_committed)
    async with watching({"default": cluster}, [query]) as watcher:
        return await settled(watcher, query)


async def settled(watcher: Watcher, query: LagQuery) -> Observation:
    return await watcher.until(
        query, lambda each: each.state not in ("not sampled yet", "refused", "timeout", "partial"), 15
    )


def of(group: str, *topics: str) -> LagQuery:
    return LagQuery("default", group, topics)


async def seed(kafka: Kafka, name: str, group: str) -> None:
    """1,000 records in three partitions, 400 of them consumed from two; the third has no commit."""
    await produce(kafka.address(), {(name, 0): 334, (name, 1): 333, (name, 2): 333})
    await commit(kafka.address(), group, {(name, 1): 333, (name, 2): 67})


async def test_first_call_ever_on_a_new_cluster_is_asked_again(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    """The topic of commits is made when the first coordinator is looked for. This test must be the first."""
    name = await topic(admin)
    found = await sample(kafka, of("new", name))
    assert (found.value, found.state) == (0, "no such group")


async def test_lag_600_of_which_a_partition_without_commit_goes_by_policy(
    kafka: Kafka, admin: AIOKafkaAdminClient
) -> None:
    name = await topic(admin)
    await seed(kafka, name, "orders-consumer")
    found = await sample(kafka, of("orders-consumer", name))
    assert (found.counted(NoCommit.EARLIEST), found.counted(NoCommit.LATEST)) == (600, 266)
    assert found.state == "no offset yet"
    await commit(kafka.address(), "orders-consumer", {(name, 0): 34})
    found = await sample(kafka, of("orders-consumer", name))
    assert (found.value, found.committed, found.state) == (566, 566, "ok")


async def test_no_topic_named_means_those_that_have_commits(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    one, two, other = await topic(admin), await topic(admin), await topic(admin)
    await produce(kafka.address(), {(one, 0): 10, (two, 1): 20, (other, 0): 500})
    await commit(kafka.address(), "two-topics", {(one, 0): 3, (two, 0): 0})
    found = await sample(kafka, of("two-topics"))
    assert (found.value, found.committed) == (7 + 20, 7), "a partition of such a topic without a commit counts"


@pytest.mark.parametrize("named", [True, False])
async def test_group_does_not_exist(kafka: Kafka, admin: AIOKafkaAdminClient, *, named: bool) -> None:
    name = await topic(admin)
    await produce(kafka.address(), {(name, 0): 5})
    found = await sample(kafka, of("ghost", *([name] if named else [])))
    assert found.state == "no such group"
    assert (found.value, found.committed) == ((5, 0) if named else (None, None))
    assert (found.unknown is None) is named


async def test_group_that_is_there_and_has_committed_nothing(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    name = await topic(admin)
    await produce(kafka.address(), {(name, 0): 5})
    member = AIOKafkaConsumer(name, bootstrap_servers=kafka.address(), group_id="live", enable_auto_commit=False)
    await member.start()
    try:
        named, every = await sample(kafka, of("live", name)), await sample(kafka, of("live"))
    finally:
        await member.stop()
    assert (named.value, named.state) == (5, "no offset yet")
    assert (every.value, every.state) == (None, "no offset yet")
    assert every.unknown == "group live has committed nothing, and no topic is named"


async def test_k78_no_commit_and_retention_has_eaten_the_start(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    name = await topic(admin, 1)
    await produce(kafka.address(), {(name, 0): 1000})
    await admin.delete_records({TopicPartition(name, 0): RecordsToDelete(900)})
    found = await sample(kafka, of("fresh", name))
    assert (found.counted(NoCommit.EARLIEST), found.counted(NoCommit.LATEST)) == (100, 0)
    assert found.state == "no such group"
    await admin.delete_records({TopicPartition(name, 0): RecordsToDelete(1000)})
    found = await sample(kafka, of("fresh", name))
    assert (found.counted(NoCommit.EARLIEST), found.counted(NoCommit.LATEST)) == (0, 0)
    await commit(kafka.address(), "fresh", {(await topic(admin, 1), 0): 0})
    assert (await sample(kafka, of("fresh", name))).state == "no offset yet"


async def test_k80_never_negative(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    """A consumer that keeps up and commits without rest, beside a producer, under 500 samples."""
    name = await topic(admin, 1)
    await produce(kafka.address(), {(name, 0): 1})
    stop, query = asyncio.Event(), of("quick", name)
    producer = AIOKafkaProducer(bootstrap_servers=kafka.address())
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.address(), group_id="quick", enable_auto_commit=False)
    await producer.start()
    await consumer.start()
    partition = TopicPartition(name, 0)
    consumer.assign([partition])
    await consumer.seek_to_beginning(partition)

    async def keep_up() -> None:
        sent = 1
        while not stop.is_set() or await consumer.position(partition) < sent:
            if not stop.is_set():
                await producer.send_and_wait(name, b"x", partition=0)
                sent += 1
            await consumer.getmany(timeout_ms=10)
            await consumer.commit()

    busy = asyncio.create_task(keep_up())
    quick = Sampling(interval=0.004, timeout=3.0, ttl=5.0, failures=5, reset=1.0)
    async with watching({"default": at(kafka.address())}, [query], quick) as watcher:
        await watcher.rounds(500)
        stop.set()
        await busy
        last = await watcher.until(query, lambda each: each.value == 0 and each.state == "ok")
    await producer.stop()
    await consumer.stop()
    values = [each.value for each in watcher.of(query) if each.value is not None]
    assert min(values) >= 0
    assert max(values) < 100
    assert last.committed == 0


async def test_committed_above_end_counts_nothing(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    name = await topic(admin, 2)
    await produce(kafka.address(), {(name, 0): 5, (name, 1): 5})
    await commit(kafka.address(), "ahead", {(name, 0): 50, (name, 1): 0})
    assert (await sample(kafka, of("ahead", name))).value == 5


async def test_k85_stopped_consumers_still_have_lag(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    name = await topic(admin, 1)
    query = of("stopped", name)
    await produce(kafka.address(), {(name, 0): 100})
    await commit(kafka.address(), "stopped", {(name, 0): 100})
    async with watching({"default": at(kafka.address())}, [query, of("stopped")], SWIFT) as watcher:
        await watcher.until(query, lambda each: each.value == 0 and each.state == "ok")
        await produce(kafka.address(), {(name, 0): 500})
        await watcher.until(query, lambda each: each.value == 500)
        # Its offsets expire, which takes a minute at least; to delete them has the same effect.
        await asyncio.to_thread(delete_group, kafka, "stopped")
        gone = await watcher.until(query, lambda each: each.state == "no such group")
        assert (gone.value, gone.committed) == (600, 0)
        await watcher.rounds(1)
        assert (watcher.now(of("stopped")).value, watcher.now(of("stopped")).state) == (None, "no such group")
    values = [each.value for each in watcher.of(query)[1:]]
    assert None not in values, "the series is continuous"
    assert set(values) <= {0, 500, 600} | set(range(501)), "and says never less than there is"


def delete_group(kafka: Kafka, group: str) -> None:
    client = AdminClient({"bootstrap.servers": kafka.address()})
    client.delete_consumer_groups([group])[group].result(20)


async def test_k87_sampling_creates_no_topic(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    ghost, real = next(NAMES), await topic(admin)
    queries = [of("g", ghost), of("g", real, ghost), of("g")]
    await commit(kafka.address(), "g", {(real, 0): 0})
    async with watching({"default": at(kafka.address())}, queries, SWIFT) as watcher:
        found = await settled(watcher, queries[0])
        await watcher.rounds(10)
        assert (found.value, found.state) == (None, "topic not found")
        assert found.unknown == f"topic {ghost} is not there, or may not be described"
        assert watcher.now(queries[1]).state == "topic not found", "lag of a part is not the lag"
        assert watcher.now(queries[2]).value == 0
        assert ghost not in await admin.list_topics()
        await create(admin, ghost, 1)
        await produce(kafka.address(), {(ghost, 0): 3})
        assert (await watcher.until(queries[0], lambda each: each.value == 3)).state == "no offset yet"


async def test_topic_just_deleted_is_not_asked_for_and_does_not_come_back(
    kafka: Kafka, admin: AIOKafkaAdminClient
) -> None:
    name, other = await topic(admin), await topic(admin)
    await produce(kafka.address(), {(name, 0): 30, (other, 0): 4})
    await commit(kafka.address(), "mover", {(name, 0): 10, (other, 0): 0})
    queries = [of("mover", name), of("mover", other), of("mover")]
    async with watching({"default": at(kafka.address())}, queries, SWIFT) as watcher:
        await watcher.until(queries[2], lambda each: each.value == 24)
        await admin.delete_topics([name])
        gone = await watcher.until(queries[0], lambda each: each.value is None)
        assert gone.state == "topic not found"
        assert (await watcher.until(queries[2], lambda each: each.value == 4)).state == "no offset yet"
        assert watcher.now(queries[1]).value == 4, "others go on"
        assert name not in await admin.list_topics()
        for _ in range(100):
            answer = await admin.create_topics([NewTopic(name, 1, 1)])
            if answer.topic_errors[0][1] == 0:
                break
            await asyncio.sleep(0.1)  # the deletion is not over yet
        await produce(kafka.address(), {(name, 0): 6})
        again = await watcher.until(queries[0], lambda each: each.value == 6)
        assert again.state == "no offset yet", "lag starts anew"


async def test_partitions_grown_from_3_to_5(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    name = await topic(admin)
    query = of("grown", name)
    await commit(kafka.address(), "grown", {(name, number): 0 for number in range(3)})
    async with watching({"default": at(kafka.address())}, [query], SWIFT) as watcher:
        await watcher.until(query, lambda each: each.value == 0 and each.state == "ok")
        await admin.create_partitions({name: NewPartitions(5)})
        await watcher.until(query, lambda each: each.state == "no offset yet")
        await produce(kafka.address(), {(name, 4): 9})
        found = await watcher.until(query, lambda each: each.value == 9)
    assert found.committed == 0


@pytest.mark.parametrize(("read_committed", "open_", "closed"), [(False, 15, 16), (True, 10, 16)])
async def test_records_of_an_open_transaction(
    kafka: Kafka, admin: AIOKafkaAdminClient, *, read_committed: bool, open_: int, closed: int
) -> None:
    name = await topic(admin, 1)
    await produce(kafka.address(), {(name, 0): 10})
    await commit(kafka.address(), "tx", {(name, 0): 0})
    producer = AIOKafkaProducer(bootstrap_servers=kafka.address(), transactional_id=f"tx-{name}")
    await producer.start()
    async with producer.transaction():
        for _ in range(5):
            await producer.send_and_wait(name, b"x", partition=0)
        assert (await sample(kafka, of("tx", name), read_committed=read_committed)).value == open_
    await producer.stop()
    query, expected = of("tx", name), closed
    host, _, port = kafka.address().rpartition(":")
    cluster = ClusterOptions(((host, int(port)),), read_committed=read_committed)
    async with watching({"default": cluster}, [query], SWIFT) as watcher:
        await watcher.until(query, lambda each: each.value == expected)


async def test_group_of_the_new_protocol(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    """KIP-848: its state is Dead for those who ask the old way; its offsets and its name are there."""
    name = await topic(admin, 1)
    await produce(kafka.address(), {(name, 0): 8})

    def consume() -> Consumer:
        login = {"bootstrap.servers": kafka.address(), "group.id": "kip848", "group.protocol": "consumer"}
        member = Consumer({**login, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        member.subscribe([name])
        taken = [message for message in (member.poll(10) for _ in range(5)) if message is not None]
        member.commit(message=taken[-1], asynchronous=False)
        return member

    member = await asyncio.to_thread(consume)
    found = await sample(kafka, of("kip848", name))
    await asyncio.to_thread(member.close)
    assert (found.value, found.state) == (3, "ok")


async def test_a_group_that_commits_nothing_while_records_arrive_is_stalled(
    kafka: Kafka, admin: AIOKafkaAdminClient
) -> None:
    name = await topic(admin, 1)
    query = of("lazy", name)
    await produce(kafka.address(), {(name, 0): 5})
    await commit(kafka.address(), "lazy", {(name, 0): 1})
    async with watching({"default": at(kafka.address())}, [query], SWIFT, stall_samples=3) as watcher:
        await watcher.until(query, lambda each: each.value == 4)
        for _ in range(3):
            assert watcher.now(query).state == "ok"
            await produce(kafka.address(), {(name, 0): 1})
            await watcher.rounds(3)
        stalled = await watcher.until(query, lambda each: each.state == "stalled")
        assert stalled.value == 7, "the value stays"
        await commit(kafka.address(), "lazy", {(name, 0): 2})
        await watcher.until(query, lambda each: each.value == 6 and each.state == "ok")


async def test_hundreds_of_queries_are_few_calls(kafka: Kafka, admin: AIOKafkaAdminClient) -> None:
    """60 groups over two topics, each watched in three ways: one connection, and a round in good time."""
    one, two = await topic(admin, 2), await topic(admin, 2)
    await produce(kafka.address(), {(one, 0): 10, (two, 1): 10})
    for number in range(3):
        await commit(kafka.address(), f"many-{number}", {(one, 0): number})
    queries = [of(f"many-{number}", *topics) for number in range(60) for topics in ([one], [one, two], [two])]
    async with watching({"default": at(kafka.address())}, queries, FAST) as watcher:
        await watcher.until(queries[-1], lambda each: each.value is not None)
        await watcher.rounds(1)
        assert not [each for each in watcher.observer.observations() if each.value is None or each.detail]
        assert watcher.now(of("many-2", one)).value == 8
        assert watcher.now(of("many-9", one, two)).value == 20
        assert watcher.observer.connections == 1

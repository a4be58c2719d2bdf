"""Records and commits, made the way that producers and consumers make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

Partition = tuple[str, int]


async def produce(bootstrap: str, records: Mapping[Partition, int], **login: Any) -> None:
    """Append so many records to each partition."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, **login)
    await producer.start()
    try:
        for (topic, partition), count in records.items():
            for _ in range(count):
                await producer.send(topic, b"x", partition=partition)
        await producer.flush()
    finally:
        await producer.stop()


async def commit(bootstrap: str, group: str, offsets: Mapping[Partition, int], **login: Any) -> None:
    """Commit these offsets; the group need not exist, and nobody joins it."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, **login)
    await consumer.start()
    try:
        consumer.assign([TopicPartition(*each) for each in offsets])
        await consumer.commit({TopicPartition(*each): offset for each, offset in offsets.items()})
    finally:
        await consumer.stop()

"""A program: a consumer that takes its time (`python -m xds_server.demo.consumer BOOTSTRAP TOPIC GROUP RATE`).

Stop it with SIGSTOP and its group lags; let it go on with SIGCONT and it catches up, at RATE messages a second.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, TopicPartition

BATCH = 0.1
"""Seconds of work after which what was done is committed."""


def consume(bootstrap: str, topic: str, group: str, rate: float) -> None:
    """Handle at most `rate` messages a second and commit them, until the process is ended.

    All partitions are assigned to it: it is the group's only member, and a pause loses it nothing.
    """
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, "log_level": 0}
    client = Consumer({**settings, "auto.offset.reset": "earliest"})
    client.assign(_partitions(client, topic))
    while True:
        messages = client.consume(max(1, int(rate * BATCH)), timeout=BATCH)
        time.sleep(len(messages) / rate)
        if any(message.error() is None for message in messages):
            client.commit(asynchronous=True)


def _partitions(client: Consumer, topic: str) -> list[TopicPartition]:
    """The partitions of `topic`, once the producer's first message has made it."""
    while not (found := client.list_topics(topic, timeout=10).topics[topic].partitions):
        time.sleep(BATCH)
    return [TopicPartition(topic, number) for number in found]


if __name__ == "__main__":
    consume(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]))

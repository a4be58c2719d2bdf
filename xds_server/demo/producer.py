"""A program: orders come in at a steady rate (`python -m xds_server.demo.producer BOOTSTRAP TOPIC RATE`)."""

from __future__ import annotations

import itertools
import sys
import time

from confluent_kafka import Producer

BEAT = 0.1
"""Seconds from one batch to the next."""


def produce(bootstrap: str, topic: str, rate: float) -> None:
    """Send `rate` messages a second, spread over all partitions, until the process is ended."""
    client = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})
    due, sent = time.monotonic(), 0
    for beat in itertools.count(1):
        while sent < beat * BEAT * rate:
            sent += 1
            client.produce(topic, b"an order", key=str(sent))
        due += BEAT
        client.poll(0)
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    produce(sys.argv[1], sys.argv[2], float(sys.argv[3]))

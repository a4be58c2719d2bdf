"""librdkafka's mock cluster as a broker that needs nothing but a Python package: right for lag when topics are named.

Any topic springs up with 4 partitions when a client names it; there is no list of groups, no login, no TLS.
As a program it prints `bootstrap: HOST:PORT` and serves until it is ended.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from tests.support.kafka_process import BrokerProcess


@contextmanager
def mock_cluster(folder: Path) -> Iterator[tuple[BrokerProcess, str]]:
    """The process, and its address."""
    broker = BrokerProcess([sys.executable, __file__], folder / "mock.log")
    try:
        deadline = time.monotonic() + 30
        while "bootstrap: " not in broker.printed:
            assert broker.running, broker.printed
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield broker, broker.printed.partition("bootstrap: ")[2].split()[0]
    finally:
        broker.stop()


def main() -> None:
    """Serve."""
    producer = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=20).brokers.values()
    print(f"bootstrap: {broker.host}:{broker.port}", flush=True)  # noqa: T201 - it is a program
    while True:
        producer.poll(1)


if __name__ == "__main__":
    main()

"""A program: a Kafka broker of one process, librdkafka's mock cluster (`python -m xds_server.demo.mock_broker FILE`).

It writes its `host:port` to FILE once it takes requests, and serves until it is ended. It produces, fetches and keeps
commits as Kafka does; it neither lists topics or groups nor creates topics on request: any topic that is asked for is
there, with four partitions.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from confluent_kafka import Producer

from xds_server.demo.yaml_files import replace_file


def serve(address_file: Path) -> None:
    """Serve until the process is ended."""
    # The mock cluster belongs to a client and lives as long as that does.
    client = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0})
    broker = next(iter(client.list_topics(timeout=10).brokers.values()))
    replace_file(address_file, f"{broker.host}:{broker.port}")
    threading.Event().wait()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))

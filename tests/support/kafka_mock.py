"""librdkafka's mock cluster as a broker that needs nothing but a Python package: right for lag when topics are named.

It is the demo's. Any topic springs up with 4 partitions; there is no list of groups, no login, no TLS.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.kafka_process import BrokerProcess
from xds_server.demo import mock_broker


@contextmanager
def mock_cluster(folder: Path) -> Iterator[tuple[BrokerProcess, str]]:
    """The process, and its address."""
    address = folder / "mock.address"
    broker = BrokerProcess([sys.executable, "-m", mock_broker.__name__, str(address)], folder / "mock.log")
    try:
        deadline = time.monotonic() + 30
        while not address.exists():
            assert broker.running, broker.printed
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield broker, address.read_text()
    finally:
        broker.stop()

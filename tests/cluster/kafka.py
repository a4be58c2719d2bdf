"""A real Kafka on this machine that pods of the cluster reach."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.cluster import Cluster
from tests.kafka.broker import Kafka, missing


@contextmanager
def broker(cluster: Cluster, folder: Path) -> Iterator[Kafka | None]:
    """It runs while the `with` lasts."""
    if missing():
        yield None
        return
    found = Kafka(folder, host=_seen_by(cluster))
    found.start()
    try:
        yield found
    finally:
        found.stop()


def _seen_by(cluster: Cluster) -> str:
    """The address of this machine at which a node reaches it."""
    path = "{.items[0].status.addresses[?(@.type=='InternalIP')].address}"
    node = cluster.kubectl("get", "nodes", "-o", f"jsonpath={path}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((node, 9))  # sends nothing
        return str(probe.getsockname()[0])

"""The naive server does its work per stream, and sends what differs from what it sent."""

from __future__ import annotations

import pytest
from envoy.service.discovery.v3 import discovery_pb2

from bench.naive_server import NaiveServer, Stream
from bench.world import World
from xds_server.wire.types import CLUSTER, ENDPOINT


@pytest.mark.parametrize("delta", [False, True])
def test_a_stream_is_sent_everything_once_and_then_what_changed(*, delta: bool) -> None:
    server = NaiveServer(World(clusters=2, endpoints=1, routes=1))
    stream = Stream(server._types, delta=delta)
    if delta:
        stream.take(discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTER))
        stream.take(discovery_pb2.DeltaDiscoveryRequest(type_url=ENDPOINT, resource_names_subscribe=["cluster-00001"]))
    else:
        stream.take(discovery_pb2.DiscoveryRequest(type_url=CLUSTER))
        stream.take(discovery_pb2.DiscoveryRequest(type_url=ENDPOINT, resource_names=["cluster-00001"]))
    assert [(each.type_url, len(each.resources)) for each in stream.due()] == [(CLUSTER, 2), (ENDPOINT, 1)]
    assert stream.due() == []
    server.publish("one", 2)
    assert [each.type_url for each in stream.due()] == [ENDPOINT]

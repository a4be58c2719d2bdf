"""The requests of the benchmarks' clients: names, nonces, and the node where Envoy puts it."""

from __future__ import annotations

import pytest
from envoy.service.discovery.v3 import discovery_pb2

from bench.subscriber import Phrasebook, Subscriber, make_node
from xds_server.wire import response
from xds_server.wire.request import RequestParser
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT


def cluster() -> Resource:
    return Resource("a", CLUSTER, b"\x0a\x01a")  # Cluster.name, field 1


def test_clusters_are_asked_for_first_and_assignments_by_their_names() -> None:
    client = Subscriber(Phrasebook("sotw"), make_node(1, "bench", 0))
    parser = RequestParser()
    (first,) = client.start()
    request, node = parser.sotw(first)
    assert (request.type_url, request.names, bool(node)) == (CLUSTER, frozenset(), True)
    said, (ack, ask) = client.receive(response.sotw(CLUSTER, "v1", [cluster()], {}).message)
    request, node = parser.sotw(ack)
    assert (request.version_info, request.nonce, node) == ("v1", said.nonce, b"")
    request, _ = parser.sotw(ask)
    assert (request.type_url, request.names) == (ENDPOINT, frozenset({"a"}))


@pytest.mark.parametrize("mode", ["delta", "sotw"])
def test_the_node_goes_with_every_request_when_asked_to(mode: str) -> None:
    node = make_node(1, "bench", 3)
    client = Subscriber(Phrasebook(mode), node, node_always=True)
    if mode == "sotw":
        message, built = discovery_pb2.DiscoveryRequest, response.sotw(CLUSTER, "v1", [cluster()], {})
    else:
        message, built = discovery_pb2.DeltaDiscoveryRequest, response.delta(CLUSTER, "v1", [cluster()], [], {})
    for request in (*client.start(), *client.receive(built.message)[1]):
        assert message.FromString(request).node.SerializeToString() == node


def test_the_node_is_as_big_as_envoys() -> None:
    assert 55_000 < len(make_node(0, "bench", 516)) < 90_000

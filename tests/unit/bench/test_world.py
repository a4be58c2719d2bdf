"""The synthetic world: as resources and as documents it is the same, byte for byte."""

from __future__ import annotations

import pytest

from bench import documents, world
from bench.documents import Body
from bench.world import World
from xds_server.ir.declared import NativeDocument
from xds_server.ir.origin import Origin
from xds_server.translate.native import decode
from xds_server.wire.resource import Resource
from xds_server.wire.types import ENDPOINT


@pytest.mark.parametrize(
    ("body", "resource"),
    [
        (documents.cluster(7), world.cluster(7, 0)),
        (documents.assignment(300, 10, 3), world.assignment(300, 10, 3)),
        (documents.routes(5, 3, 2), world.routes(5, 3, 2)),
    ],
)
def test_documents_are_the_resources(body: Body, resource: Resource) -> None:
    assert decode(NativeDocument("bench", body, Origin("test"))).body == resource.body


def test_the_listener_differs_in_its_generation_only() -> None:
    made = decode(NativeDocument("bench", documents.listener(), Origin("test")))
    assert made.refs == world.listener(0).refs


def test_a_change_is_of_the_next_cluster_in_turn() -> None:
    small = World(clusters=3, endpoints=2, routes=1)
    assert len(small.change("all", 0)) == 4
    names = [small.change("one", 1)[ENDPOINT][0].name for _ in range(3)]
    assert sorted(names) == [world.cluster_name(number) for number in range(3)]

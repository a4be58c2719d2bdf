"""K11: the node comes with the first message only; without one, or with an empty or another id, nothing is served."""

from __future__ import annotations

import grpc
import pytest
from envoy.config.core.v3 import base_pb2
from google.protobuf.message import Message

from tests.conformance.client import Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, MAIN, Variant, delta_request, node_of, sotw_request


def _request(variant: Variant, key: str, node: base_pb2.Node | None) -> Message:
    if variant is Variant.SOTW:
        return sotw_request(key, ["a"], node=node)
    return delta_request(key, ["a"], node=node)


@pytest.mark.parametrize("variant", BOTH)
async def test_k11_node_on_the_first_message_only(clients: Clients, world: World, variant: Variant) -> None:
    world.write("all", *(marked(key, "a", 1) for key in MAIN))
    stream = await clients.stream(variant, world)
    for key in MAIN:
        stream.ask(key, "a")
    for key in MAIN:
        await stream.holding(key, {"a": 1})
    world.write("all", *(marked(key, "a", 2) for key in MAIN))
    for key in MAIN:
        await stream.holding(key, {"a": 2})


@pytest.mark.parametrize("variant", BOTH)
async def test_k11_no_node_empty_id_another_id(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    world.write("a", marked("cds", "a", 1))
    other = await clients.stream(variant, world)
    other.ask("cds")
    await other.holding("cds", {"a": 1})

    missing = await clients.bare(variant)
    missing.send(_request(variant, "cds", None))
    empty = await clients.bare(variant)
    empty.send(_request(variant, "cds", node_of("", group=world.group)))
    changed = await clients.stream(variant, world, "first-id")
    changed.ask("cds", "a")
    await changed.holding("cds", {"a": 1})
    changed.send(_request(variant, "eds", node_of("second-id", group=world.group)))
    for stream, word in ((missing, "node"), (empty, "id"), (changed, "second-id")):
        await _refused(stream, word)

    world.write("a", marked("cds", "a", 2))
    await other.holding("cds", {"a": 2})
    nodes = (await server.get("/v1/nodes"))["nodes"]
    assert all(node["id"] for node in nodes)
    assert not [node for node in nodes if node["id"] == "second-id"]


async def _refused(stream: Stream, word: str) -> None:
    code, details = await stream.end(within=2)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert word in details
    assert len(stream.received) <= 1

"""K26: a content that some node refused and none accepted is not given to nodes that come new."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio
from envoy.service.discovery.v3 import discovery_pb2

from tests.conformance.client import Answer, Stream, accept, hold, refuse
from tests.conformance.documents import edge, marked, service
from tests.conformance.server import Clients
from tests.conformance.wire import BOTH, URLS, Received, Variant, node_of, sotw_request
from tests.feature.inprocess import Inside, inside
from xds_server.admin import present

KEYS = ("cds", "eds", "lds", "rds", "sds")
WILDCARD = frozenset({"cds", "lds"})


@pytest_asyncio.fixture(loop_scope="session")
async def server() -> AsyncIterator[Inside]:
    async with inside() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def clients(server: Inside) -> AsyncIterator[Clients]:
    async with AsyncExitStack() as stack:
        yield server.clients(stack)


async def begin(clients: Clients, variant: Variant, node: str, *keys: str, answer: Answer = accept) -> Stream:
    """A stream of a node that asks for these types: listeners and clusters as a whole, of others `a`."""
    stream = await clients.stream(variant, id=node, answer=answer)
    for key in keys:
        stream.ask(key, "*" if key in WILDCARD else "a")
    return stream


def refusing(key: str) -> Answer:
    """Refuse one type from now on."""

    def answer(stream: Stream, response: Received) -> None:
        (refuse if response.key == key else accept)(stream, response)

    return answer


async def refused(server: Inside, key: str) -> None:
    group = server.groups.obtain("default")
    await server.until(lambda: bool(group.views.standing()), f"{key} is judged")


@pytest.mark.parametrize("variant", BOTH)
@pytest.mark.parametrize("key", KEYS)
async def test_k26_a_new_node_gets_what_was_accepted_before(
    server: Inside, clients: Clients, variant: Variant, key: str
) -> None:
    server.publish([marked(key, "a", 1)])
    first = await begin(clients, variant, "first", key)
    await first.holding(key, {"a": 1})
    await server.until(server.in_sync, "the first version is accepted")
    first.answer = refuse
    server.publish([marked(key, "a", 2)])
    await refused(server, key)
    second = await begin(clients, variant, "second", key)
    await second.holding(key, {"a": 1})
    await second.quiet()
    assert len(first.of(key)) <= 3, "each content once, and perhaps an empty answer at first"
    group = present.group(server.groups.obtain("default"), server.tracker.counts("default"))
    assert not group.programmed
    assert group.nodes.acked == 0, "the second has not accepted what the group has"
    (withheld,) = group.withheld
    assert (withheld.type, withheld.name, withheld.nodes) == (key, "a", ["first"])
    assert withheld.message == "refused by the test"
    assert [each.path for each in withheld.origin] == ["world"]
    assert group.reason == f"{key} 'a' was refused by first, and no node has accepted it"
    first.answer = accept
    server.publish([marked(key, "a", 3)])
    for stream in (first, second):
        await stream.holding(key, {"a": 3})
    await server.until(server.in_sync, "the good version is accepted")
    group = present.group(server.groups.obtain("default"), server.tracker.counts("default"))
    assert (group.programmed, group.reason, group.withheld) == (True, None, [])


@pytest.mark.parametrize("variant", BOTH)
async def test_k26_what_was_never_accepted_is_left_out_and_the_rest_is_given(
    server: Inside, clients: Clients, variant: Variant
) -> None:
    server.publish([marked("lds", "good", 1)])
    first = await begin(clients, variant, "first", "lds")
    await first.holding("lds", {"good": 1})
    await server.until(server.in_sync, "the first version is accepted")
    first.answer = refuse
    server.publish([marked("lds", "good", 1), marked("lds", "bad", 1)])
    await refused(server, "lds")
    second = await begin(clients, variant, "second", "lds")
    await second.holding("lds", {"good": 1})
    await second.quiet()
    assert "bad" not in second.names_of("lds")


@pytest.mark.parametrize("variant", BOTH)
async def test_k26_the_other_types_are_the_newest_and_everything_resolves(
    server: Inside, clients: Clients, variant: Variant
) -> None:
    server.publish([*service("old", 1), *edge("a", "old")])
    first = await begin(clients, variant, "first", "cds", "lds")
    first.ask("eds", "old")
    first.ask("rds", "a-routes")
    await first.until(lambda: first.names_of("rds") == {"a-routes"}, what="routes")
    await server.until(server.in_sync, "the first version is accepted")
    first.answer = refusing("rds")
    server.publish([*service("old", 2), *service("new", 1), *edge("a", "new")])
    first.ask("eds", "old", "new")
    await refused(server, "rds")
    second = await begin(clients, variant, "second", "cds", "lds")
    second.ask("eds", "old", "new")
    second.ask("rds", "a-routes")
    await second.until(lambda: second.names_of("rds") == {"a-routes"}, what="routes")
    second.skip()
    await second.quiet()
    assert b"/old/" in second.holds["rds"]["a-routes"]
    assert second.names_of("cds") == {"old", "new"}
    assert b"mark-2;" in second.holds["cds"]["old"]


@pytest.mark.parametrize("variant", BOTH)
async def test_k26_clusters_that_the_accepted_routes_need_come_back(
    server: Inside, clients: Clients, variant: Variant
) -> None:
    server.publish([*service("old", 1), *edge("a", "old")])
    first = await begin(clients, variant, "first", "cds", "lds")
    first.ask("eds", "old")
    first.ask("rds", "a-routes")
    await first.until(lambda: first.names_of("rds") == {"a-routes"}, what="routes")
    await server.until(server.in_sync, "the first version is accepted")
    first.answer = refusing("rds")
    server.publish([*service("new", 1), *edge("a", "new")])
    first.ask("eds", "old", "new")
    await refused(server, "rds")
    second = await begin(clients, variant, "second", "cds", "lds")
    second.ask("eds", "old", "new")
    second.ask("rds", "a-routes")
    await second.until(lambda: second.names_of("rds") == {"a-routes"}, what="routes")
    assert b"/old/" in second.holds["rds"]["a-routes"]
    assert {"old"} <= second.names_of("cds")
    assert {"old"} <= second.names_of("eds")


@pytest.mark.parametrize("variant", BOTH)
async def test_k26_a_node_that_accepts_it_frees_it_for_all(server: Inside, clients: Clients, variant: Variant) -> None:
    server.publish([marked("lds", "a", 1)])
    first = await begin(clients, variant, "first", "lds")
    slow = await begin(clients, variant, "slow", "lds")
    for stream in (first, slow):
        await stream.holding("lds", {"a": 1})
    await server.until(server.in_sync, "the first version is accepted")
    first.answer = refuse
    slow.answer = lambda _stream, _response: None
    server.publish([marked("lds", "a", 2)])
    await refused(server, "lds")
    await slow.holding("lds", {"a": 2})
    new = await begin(clients, variant, "new", "lds")
    await new.holding("lds", {"a": 1})
    slow.ack(slow.received[-1])
    await new.holding("lds", {"a": 2})
    assert server.groups.obtain("default").views.standing() == []


@pytest.mark.parametrize("variant", BOTH)
async def test_k26_when_the_refusing_node_has_left_it_is_tried_where_nothing_is_lost(
    server: Inside, clients: Clients, variant: Variant
) -> None:
    server.publish([marked("lds", "a", 1)])
    async with AsyncExitStack() as leaving:
        first = await begin(server.clients(leaving), variant, "first", "lds")
        await first.holding("lds", {"a": 1})
        await server.until(server.in_sync, "the first version is accepted")
        first.answer = refuse
        server.publish([marked("lds", "a", 2)])
        await refused(server, "lds")
        second = await begin(clients, variant, "second", "lds")
        await second.holding("lds", {"a": 1})
        await second.quiet()
    await second.holding("lds", {"a": 2})
    await server.until(server.in_sync, "the second has accepted it")
    assert server.groups.obtain("default").views.standing() == []


@pytest.mark.parametrize("variant", BOTH)
async def test_k26_a_refusing_node_that_comes_back_is_not_moved_to_and_fro(
    server: Inside, clients: Clients, variant: Variant
) -> None:
    server.publish([marked("lds", "a", 1)])
    first = await begin(clients, variant, "first", "lds")
    await first.holding("lds", {"a": 1})
    await server.until(server.in_sync, "the first version is accepted")
    first.answer = refuse
    server.publish([marked("lds", "a", 2)])
    await refused(server, "lds")

    def sceptical(stream: Stream, response: Received) -> None:
        is_bad = b"mark-2;" in response.resources.get("a", b"")
        (refuse if is_bad else accept)(stream, response)

    for _ in range(3):
        back = await begin(clients, variant, "first", "lds", answer=sceptical)
        await back.holding("lds", {"a": 1})
        await back.quiet()
        assert len(back.of("lds")) == 1, "only what was accepted before, while it is refused on a stream that is up"


async def test_k26_a_fetch_is_a_new_node(server: Inside, clients: Clients) -> None:
    server.publish([marked("lds", "a", 1)])
    first = await begin(clients, Variant.DELTA, "first", "lds")
    await first.holding("lds", {"a": 1})
    await server.until(server.in_sync, "the first version is accepted")
    first.answer = refuse
    server.publish([marked("lds", "a", 2)])
    await refused(server, "lds")
    offered = server.groups.obtain("default").views.offer()
    assert offered is not None
    channel = await clients.channel()
    call: Any = channel.unary_unary("/envoy.service.listener.v3.ListenerDiscoveryService/FetchListeners")
    request = sotw_request("lds", ())
    request.MergeFrom(discovery_pb2.DiscoveryRequest(node=node_of("fetching")))
    answer = await call(request.SerializeToString())
    assert b"mark-1;" in answer
    assert b"mark-2;" not in answer


@pytest.mark.parametrize("variant", BOTH)
async def test_k26_what_a_node_claims_after_a_restart_counts_as_accepted(
    server: Inside, clients: Clients, variant: Variant
) -> None:
    server.publish([marked("lds", "a", 1)])
    current = server.groups.obtain("default").current
    assert current is not None
    listeners = current.typeset(URLS["lds"])
    back = await clients.stream(variant, id="back")
    claims = {"a": listeners.resources["a"].version}
    back.ask("lds", "*", version=listeners.version, initial=claims)
    await server.until(lambda: server.streams() == 1, "it is back")
    await back.quiet("none", seconds=0.2)
    bad = await begin(clients, variant, "bad", answer=refuse)
    server.publish([marked("lds", "a", 2)])
    back.answer = hold
    bad.ask("lds", "*")
    await refused(server, "lds")
    new = await begin(clients, variant, "new", "lds")
    await new.holding("lds", {"a": 1})


@pytest.mark.parametrize("variant", BOTH)
async def test_k26_after_a_restart_nothing_is_taken_from_a_node_that_goes_on(
    server: Inside, clients: Clients, variant: Variant
) -> None:
    """This process never saw what the node has; another one has refused what is declared now."""
    world = [*service("x"), *edge("edge", "x")]
    server.publish(world)
    current = server.groups.obtain("default").current
    assert current is not None
    await begin(clients, variant, "bad", *KEYS[:3], answer=refusing("cds"))
    await refused(server, "cds")
    new = await begin(clients, variant, "new", "cds", "lds")
    await new.until(lambda: {"cds", "lds"} <= new.holds.keys(), what="both are answered")
    assert not new.holds["cds"]
    assert not new.holds["lds"], "without the cluster there is nothing to listen for"
    old = await clients.stream(variant, id="old", answer=refusing("cds"))
    lds = current.typeset(URLS["lds"])
    old.ask("cds", "*", version="of-before", initial={"x": "of-before"})
    old.ask("lds", "*", version=lds.version, initial={each.name: each.version for each in lds})
    await old.until(lambda: any(each.key == "cds" for each in old.received), what="it is offered everything")
    await asyncio.sleep(1)
    for each in old.received:
        assert not each.removed
        assert each.key != "cds" or "x" in each.names, "an answer without the cluster would take it away"
        assert each.key != "lds" or variant is Variant.DELTA, "it has the listeners"

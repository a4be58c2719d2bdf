"""Group rules of the settings over gRPC, and nodes that come back in another group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.conformance.client import Stream
from tests.conformance.documents import World, edge, marked, service
from tests.conformance.follow import dangling, follow
from tests.conformance.server import Clients, Server, restartable
from tests.conformance.wire import BOTH, Received, Variant, node_of

RULES = [
    {"match": {"id": "edge-*", "metadata": {"pod": {"tier": "front"}}}, "group": "front"},
    {"match": {"id": "edge-*", "locality": {"region": "eu"}}, "group": "europe"},
    {"match": {"cluster": "cl*", "metadata": {"pod.tier": "back"}}, "group": "back"},
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ruled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """A server with rules, and in each group a cluster with the group's name as its mark."""
    async with restartable(tmp_path_factory.mktemp("ruled"), {"groups": RULES}) as running:
        for group in ("front", "europe", "back", "said"):
            World(running.files, group).write("a", marked("cds", "a", group))
        yield running


@pytest.mark.parametrize("variant", BOTH)
async def test_rules_in_order_before_what_the_node_says(ruled: Server, variant: Variant) -> None:
    async with ruled.clients() as clients:
        for wanted, name, cluster, region, pod in (
            ("front", "edge-1", "", "eu", {"tier": "front"}),
            ("europe", "edge-1", "clx", "eu", {"tier": "back"}),
            ("back", "edge-1", "clx", "us", {"tier": "back"}),
            ("said", "other", "dlx", "eu", {"tier": "front"}),
        ):
            stream = await clients.bare(variant)
            stream.node = node_of(name, group="said", cluster=cluster)
            stream.node.locality.region = region
            stream.node.metadata.update({"pod": pod})
            stream.ask("cds")
            await stream.holding("cds", {"a": wanted})


class Traveller:
    """A node that goes from group to group and says, as Envoy does, what it holds from the one before."""

    def __init__(self, clients: Clients, variant: Variant) -> None:
        self._clients = clients
        self._variant = variant
        self._holds: dict[str, dict[str, bytes]] = {}
        self._names: dict[str, set[str]] = {}
        self._versions: dict[str, dict[str, str]] = {}
        self._last: dict[str, str] = {}

    async def visit(self, world: World, *clusters: str) -> Stream:
        """Come into a group, stay until exactly these clusters with their endpoints are there, and leave."""
        stream = await self._clients.stream(self._variant, world, "traveller", answer=self._take)
        stream.holds = self._holds
        for key in ("cds", "eds", "lds", "rds"):
            names = self._names.get(key, set())
            if key in {"cds", "lds"} or names:
                claimed = {"initial": self._versions.get(key)} if self._variant is Variant.DELTA else {}
                stream.ask(key, *names, version=self._last.get(key, ""), **claimed)
        wanted = set(clusters)
        await stream.until(lambda: stream.names_of("cds") == wanted and stream.names_of("eds") >= wanted)
        await asyncio.sleep(0.2)
        self._names = stream.names
        await stream.__aexit__(None, None, None)
        return stream

    def _take(self, stream: Stream, response: Received) -> None:
        if self._variant is Variant.DELTA:  # in SotW a list of clusters can't hold those of another group
            assert not dangling(stream)
        held = self._versions.setdefault(response.key, {})
        held.update(response.versions)
        for name in response.removed:
            held.pop(name, None)
        self._last[response.key] = response.version
        follow(stream, response)


def _write(world: World, mark: int, own: str) -> None:
    """The cluster `same` is equal in all groups, `moved` differs, and `own` is this group's only."""
    world.write("all", *service("same"), *service("moved", mark), *service(own), *edge("edge", own, "same"))


@pytest.mark.parametrize("variant", BOTH)
async def test_a_node_that_changes_its_group_gets_the_difference(
    server: Server, clients: Clients, variant: Variant
) -> None:
    one, two = server.world("one"), server.world("two")
    _write(one, 1, "only-one")
    _write(two, 2, "only-two")
    node = Traveller(clients, variant)
    await node.visit(one, "same", "moved", "only-one")
    there = await node.visit(two, "same", "moved", "only-two")
    clusters = there.of("cds")
    if variant is Variant.SOTW:
        assert [each.names for each in clusters] == [{"same", "moved", "only-two"}]
        return
    assert set().union(*(each.names for each in clusters)) == {"moved", "only-two"}
    assert set().union(*(each.removed for each in clusters)) == {"only-one"}
    assert not clusters[0].removed, "only after the routes that stopped using it"
    assert set().union(*(each.names for each in there.of("eds"))) == {"moved", "only-two"}


@pytest.mark.parametrize("variant", BOTH)
async def test_what_a_node_had_in_a_group_before_another_one_is_not_kept_for_it(
    server: Server, clients: Clients, variant: Variant
) -> None:
    """It came back from `two`, so nothing of its routes can use what `one` once had."""
    one, two = server.world("one"), server.world("two")
    _write(one, 1, "only-one")
    _write(two, 2, "only-two")
    node = Traveller(clients, variant)
    await node.visit(one, "same", "moved", "only-one")
    await node.visit(two, "same", "moved", "only-two")
    seq = (await server.group(one))["seq"]
    _write(one, 3, "only-three")
    await server.served(one, after=seq)
    back = await node.visit(one, "same", "moved", "only-three")
    assert all("only-one" not in each.names for each in back.of("cds"))
    if variant is Variant.SOTW:
        assert back.of("cds")[0].names == {"same", "moved", "only-three"}
    else:
        assert set().union(*(each.removed for each in back.of("cds"))) == {"only-two"}

"""What is served resolves: dangling references of every kind are named, and nothing good is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from envoy.config.route.v3 import route_pb2

from tests.conformance.client import Stream
from tests.conformance.documents import World, edge, marked, service
from tests.conformance.follow import dangling, start
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, Variant, marks_of
from xds_server.demo.world import (
    Document,
    assignment,
    cluster,
    listener,
    route,
    routes,
    secret_reference,
    transport_socket,
)

_TCP = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"
_AGGREGATE = "type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig"


def _with_tls(name: str, secret: str) -> Document:
    socket = transport_socket("UpstreamTlsContext", secret_reference(secret))
    return cluster(name, type="STATIC", eds_cluster_config=None, transport_socket=socket)


def _aggregate(name: str, *members: str) -> Document:
    config = {"@type": _AGGREGATE, "clusters": list(members)}
    kind = {"name": "envoy.clusters.aggregate", "typed_config": config}
    return {**marked("cds", name), "type": None, "cluster_type": kind, "lb_policy": "CLUSTER_PROVIDED"}


def _tcp(name: str, to: str) -> Document:
    proxy = {"name": "tcp", "typed_config": {"@type": _TCP, "stat_prefix": "tcp", "cluster": to}}
    return {**marked("lds", name), "filter_chains": [{"filters": [proxy]}]}


DANGLING: dict[str, tuple[str, str, list[Document]]] = {
    "assignment": ("cds", "NoAssignment", [cluster("bad")]),
    "assignment by service name": (
        "cds",
        "NoAssignment",
        [
            cluster("bad", eds_cluster_config={"service_name": "nowhere", "eds_config": {"ads": {}}}),
            assignment("bad", [1]),
        ],
    ),
    "secret of a cluster": ("cds", "NoSecret", [_with_tls("bad", "nowhere")]),
    "member of an aggregate": ("cds", "NoCluster", [_aggregate("bad", "good", "nowhere"), marked("cds", "good")]),
    "route configuration": ("lds", "NoRoute", [listener("bad", "nowhere")]),
    "secret of a listener": (
        "lds",
        "NoSecret",
        [listener("bad", "bad-routes", tls=secret_reference("nowhere")), routes("bad-routes", [])],
    ),
    "cluster of a TCP listener": ("lds", "NoCluster", [_tcp("bad", "nowhere")]),
    "cluster of the only route": ("rds", "NoCluster", [routes("bad", [route("nowhere")])]),
}
"""What dangles → the type of the resource that is left out, the reason, the documents."""


@pytest.mark.parametrize("what", DANGLING)
async def test_what_dangles_is_left_out_and_named(server: Server, clients: Clients, world: World, what: str) -> None:
    key, reason, documents = DANGLING[what]
    good = [marked(key, f"good-{number:02}", 1) for number in range(99)]
    world.write("world", *good, *documents)
    await server.served(world)
    streams = [await clients.stream(variant, world) for variant in BOTH]
    for stream in streams:
        stream.ask(key, *(f"good-{number:02}" for number in range(99)), "bad")
    wanted = {f"good-{number:02}" for number in range(99)}
    await asyncio.gather(*(stream.until(_holds(stream, key, wanted)) for stream in streams))
    entries = {entry["name"]: entry for entry in (await server.group(world))["left_out"]}
    entry = entries["bad"]
    assert (entry["type"], entry["reason"]) == (key, reason)
    assert "bad" in entry["message"] or "nowhere" in entry["message"]
    assert entry["origin"][0]["path"].endswith("world.yaml")
    assert entry["origin"][0]["line"] > 0
    assert not [each for stream in streams for each in stream.received if "bad" in each.names]


def _holds(stream: Stream, key: str, names: set[str]) -> Callable[[], bool]:
    return lambda: stream.names_of(key) == names


@pytest.mark.parametrize("what", ["broken", "dangling", "unknown field", "unknown type"])
async def test_one_of_a_hundred_in_files_of_their_own(
    server: Server, clients: Clients, world: World, what: str
) -> None:
    bad: dict[str, Document] = {
        "dangling": cluster("bad"),
        "broken": {**marked("cds", "bad"), "connect_timeout": "soon"},
        "unknown field": {**marked("cds", "bad"), "conect_timeout": "1s"},
        "unknown type": {**marked("cds", "bad"), "@type": "type.googleapis.com/envoy.config.cluster.v3.Clusterx"},
    }
    for number in range(99):
        world.write(f"good-{number:02}", marked("cds", f"good-{number:02}", 1))
    world.write("bad", bad[what])
    stream = await clients.stream(Variant.DELTA, world)
    stream.ask("cds")
    await stream.holding("cds", {f"good-{number:02}": 1 for number in range(99)})
    left_out = (await server.group(world))["left_out"]
    if what != "unknown type":
        assert [entry["name"] for entry in left_out] == ["bad"]
    if what != "dangling":
        (error,) = [each for each in (await server.errors(world)) if each["path"].endswith("bad.yaml")]
        assert (error["line"] > 1) == (what != "unknown type")  # the line of the field
        assert error["message"]
    world.write("bad", marked("cds", "bad", 2))
    await stream.until(lambda: marks_of(stream.holds["cds"]).get("bad") == "2", within=2)
    assert (await server.group(world))["left_out"] == []
    assert not await server.errors(world)


@pytest.mark.parametrize("variant", BOTH)
async def test_the_last_good_stays_when_the_new_one_dangles(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    world.write("world", *service("x", 1), *edge("edge", "x"))
    stream = await clients.stream(variant, world)
    start(stream)
    await stream.until(lambda: stream.names_of("rds") == {"edge-routes"})
    before = await server.group(world)
    elsewhere = {"service_name": "nowhere", "eds_config": {"ads": {}}}
    fresh, endpoints = service("x", 2)
    world.write("world", {**fresh, "eds_cluster_config": elsewhere}, endpoints, *edge("edge", "x"))
    after = await server.served(world, after=before["seq"])
    assert after["types"] == before["types"]
    (entry,) = after["left_out"]
    assert (entry["name"], entry["reason"]) == ("x", "NoAssignment")
    assert "last good" in entry["message"]
    assert marks_of(stream.holds["cds"]) == {"x": "1"}
    world.write("world", *service("x", 3), *edge("edge", "x"))
    await stream.holding("cds", {"x": 3}, within=2)


@pytest.mark.parametrize("variant", BOTH)
async def test_what_is_deleted_stays_while_it_is_used(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    world.write("x", *service("x", 1))
    world.write("y", *service("y", 1))
    world.write("edge", *edge("edge", "x", "y"))
    stream = await clients.stream(variant, world)
    start(stream)
    await stream.until(lambda: stream.names_of("cds") == {"x", "y"} and stream.names_of("rds") == {"edge-routes"})
    before = (await server.group(world))["seq"]
    world.remove("x")
    group = await server.served(world, after=before)
    told = {(entry["type"], entry["name"]): entry["reason"] for entry in group["left_out"]}
    assert told == {("cds", "x"): "StillReferenced", ("eds", "x"): "StillReferenced"}
    await stream.until(lambda: stream.names_of("cds") == {"x", "y"})
    world.write("edge", *edge("edge", "y"))
    await stream.until(lambda: stream.names_of("cds") == {"y"}, within=3, what="x goes with its last user")
    assert await server.left_out(world) == {}
    assert not dangling(stream)


@pytest.mark.parametrize("variant", BOTH)
async def test_a_route_to_a_missing_cluster_answers_503_beside_good_ones(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    world.write("x", *service("x"))
    world.write("edge", *edge("edge", "x", "ghost"))
    stream = await clients.stream(variant, world)
    start(stream)
    await stream.until(lambda: stream.names_of("rds") == {"edge-routes"})
    assert _actions(stream) == {"/x/": "x", "/ghost/": 503}
    assert await server.left_out(world) == {"edge-routes": "NoCluster"}
    world.write("ghost", *service("ghost"))
    await stream.until(lambda: _actions(stream) == {"/x/": "x", "/ghost/": "ghost"}, within=2)
    assert await server.left_out(world) == {}
    assert not dangling(stream)


def _actions(stream: Stream) -> dict[str, str | int]:
    """Prefix → cluster, or the status of a direct response."""
    message = route_pb2.RouteConfiguration.FromString(stream.holds["rds"]["edge-routes"])
    entries = [entry for host in message.virtual_hosts for entry in host.routes]
    return {entry.match.prefix: entry.route.cluster or entry.direct_response.status for entry in entries}


@pytest.mark.parametrize("variant", BOTH)
async def test_a_withheld_cluster_counts_as_missing(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    """Its assignment is nowhere, so it is withheld, and the routes to it answer 503."""
    lonely, endpoints = service("lonely")
    world.write("world", *service("x"), lonely, *edge("edge", "x", "lonely"))
    stream = await clients.stream(variant, world)
    start(stream)
    await stream.until(lambda: stream.names_of("rds") == {"edge-routes"})
    assert _actions(stream) == {"/x/": "x", "/lonely/": 503}
    assert await server.left_out(world) == {"lonely": "NoAssignment", "edge-routes": "NoCluster"}
    world.write("endpoints", endpoints)
    await stream.until(lambda: _actions(stream) == {"/x/": "x", "/lonely/": "lonely"}, within=2)
    assert await server.left_out(world) == {}

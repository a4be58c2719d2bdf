"""`/v1/groups` and below, field by field as the contract has it."""

from __future__ import annotations

from tests.unit.admin.client import Client
from tests.unit.admin.documents import ORIGIN_JSON
from tests.unit.admin.world import NOW, NOW_TEXT, World, resource, typeset
from xds_server.snapshot.snapshot import Snapshot
from xds_server.wire.types import CLUSTER, RUNTIME


def expected_group(world: World) -> object:
    return {
        "name": "default",
        "version": world.second.version,
        "seq": 2,
        "created": NOW_TEXT,
        "origin": {"source": "files", "change": "world.yaml"},
        "counts": {"cds": 2, "eds": 1, "lds": 0, "rds": 1, "sds": 1},
        "types": {
            key: {"version": world.second.typeset(url).version}
            for key, url in {
                "cds": CLUSTER,
                "eds": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
                "lds": "type.googleapis.com/envoy.config.listener.v3.Listener",
                "rds": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
                "sds": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
            }.items()
        },
        "nodes": {"connected": 3, "acked": 1, "nacked": 1},
        "programmed": False,
        "reason": "1 of 3 nodes refuse a part of it",
        "withheld": [],
        "fleet": None,
        "stored": None,
        "held": None,
        "behind": None,
        "left_out": [
            {
                "type": "cds",
                "name": "ghost",
                "reason": "NoAssignment",
                "message": "refers to load assignment 'ghost'",
                "origin": [ORIGIN_JSON],
            }
        ],
    }


async def test_a_group_has_the_shape_of_the_contract(client: Client, world: World) -> None:
    assert await client.get("/v1/groups/default") == expected_group(world)


async def test_the_list_has_all_groups_by_name(client: Client, world: World) -> None:
    answer = await client.get("/v1/groups")
    assert answer.keys() == {"groups"}
    assert [each["name"] for each in answer["groups"]] == ["default", "silent"]
    assert answer["groups"][0] == expected_group(world)


async def test_a_group_without_nodes_is_not_programmed(client: Client) -> None:
    silent = await client.get("/v1/groups/silent")
    assert silent["nodes"] == {"connected": 0, "acked": 0, "nacked": 0}
    assert silent["programmed"] is False


async def test_a_group_is_programmed_once_every_node_has_accepted(client: Client, world: World) -> None:
    for node in world.nodes:
        node.accepts, node.refuses = True, False
    assert (await client.get("/v1/groups/default"))["programmed"] is True


async def test_a_group_that_was_never_published_says_so(client: Client, world: World) -> None:
    world.groups.obtain("early")
    early = await client.get("/v1/groups/early")
    assert (early["version"], early["seq"], early["created"]) == ("", 0, None)
    assert early["counts"] == {"cds": 0, "eds": 0, "lds": 0, "rds": 0, "sds": 0}
    assert await client.get("/v1/groups/early/versions") == {"versions": []}
    await client.problem("/v1/groups/early/diff", 404)


async def test_types_beyond_the_five_are_shown_by_their_url(client: Client, world: World) -> None:
    runtime = resource({"@type": RUNTIME, "name": "rtds", "layer": {"a": 1}})
    third = Snapshot("default", 3, NOW, {**world.second.types, RUNTIME: typeset(runtime)})
    world.group.publish(third)
    group = await client.get("/v1/groups/default")
    assert group["counts"][RUNTIME] == 1
    assert group["types"][RUNTIME] == {"version": third.types[RUNTIME].version}
    content = await client.get("/v1/groups/default/versions/3")
    assert content["resources"][-1]["type"] == RUNTIME


async def test_versions_come_newest_first(client: Client, world: World) -> None:
    world.group.tally.acked += 1
    answer = await client.get("/v1/groups/default/versions")
    assert answer.keys() == {"versions"}
    assert answer["versions"][0] == {
        "seq": 2,
        "version": world.second.version,
        "created": NOW_TEXT,
        "origin": {"source": "files", "change": "world.yaml"},
        "counts": {"cds": 2, "eds": 1, "lds": 0, "rds": 1, "sds": 1},
        "acked": 1,
        "nacked": 0,
        "trace": None,
    }
    assert [each["seq"] for each in answer["versions"]] == [2, 1]


async def test_a_version_is_found_by_version_and_by_seq(client: Client, world: World) -> None:
    by_seq = await client.get("/v1/groups/default/versions/1")
    by_version = await client.get(f"/v1/groups/default/versions/{world.first.version}")
    assert by_seq == by_version
    assert by_seq.keys() == {"seq", "version", "resources"}
    assert (by_seq["seq"], by_seq["version"]) == (1, world.first.version)
    names = [(each["type"], each["name"]) for each in by_seq["resources"]]
    assert names == [("cds", "gone"), ("cds", "one"), ("eds", "one"), ("rds", "main"), ("sds", "cert")]
    route = by_seq["resources"][3]
    assert route.keys() == {"type", "name", "version", "resource", "origin"}
    assert route["resource"]["virtual_hosts"][0]["routes"][0]["route"] == {"cluster": "one"}
    assert route["origin"] == [ORIGIN_JSON]


async def test_what_is_not_there_is_named(client: Client) -> None:
    for path, name in (
        ("/v1/groups/nowhere", "nowhere"),
        ("/v1/groups/nowhere/versions", "nowhere"),
        ("/v1/groups/nowhere/versions/1", "nowhere"),
        ("/v1/groups/nowhere/diff", "nowhere"),
        ("/v1/groups/default/versions/77", "77"),
        ("/v1/groups/default/diff?from=77", "77"),
        ("/v1/groups/default/diff?to=77", "77"),
    ):
        problem = await client.problem(path, 404)
        assert repr(name) in problem["detail"]
        assert problem["title"] == "Not Found"
        assert problem["instance"] == path.partition("?")[0]


async def test_names_in_paths_may_need_quoting(client: Client, world: World) -> None:
    world.groups.obtain("a/b c").publish(world.first)
    assert (await client.get("/v1/groups/a%2Fb%20c"))["name"] == "a/b c"

"""`/v1/nodes` and `/v1/nodes/{node}`."""

from __future__ import annotations

from tests.unit.admin.client import Client
from tests.unit.admin.documents import ORIGIN_JSON
from tests.unit.admin.world import NOW_TEXT, FakeNode, World

CALM_NODE = {
    "id": "n1",
    "group": "default",
    "cluster": "edge",
    "address": "127.0.0.1:5000",
    "protocol": "sotw",
    "build": "1.40.0",
    "connected": True,
    "since": NOW_TEXT,
    "replica": "pod-0",
    "identity": "",
    "types": {
        "cds": {
            "subscribed": {"wildcard": True, "names": 0},
            "sent": {"version": "v2", "nonce": "7", "at": NOW_TEXT},
            "acked": {"version": "v2", "at": NOW_TEXT},
            "nacked": None,
            "pending": False,
            "waiting": None,
            "timeouts": 0,
        }
    },
}
REFUSED = {
    "subscribed": {"wildcard": False, "names": 2},
    "sent": {"version": "v2", "nonce": "7", "at": NOW_TEXT},
    "acked": None,
    "nacked": {
        "version": "v2",
        "nonce": "7",
        "at": NOW_TEXT,
        "error": {"code": 3, "message": "Error adding/updating cluster(s) one: no such thing"},
        "culprit": [ORIGIN_JSON],
    },
    "pending": False,
    "waiting": {"for": "eds", "since": NOW_TEXT},
    "timeouts": 1,
}


async def test_all_nodes_in_the_shape_of_the_contract(client: Client) -> None:
    answer = await client.get("/v1/nodes")
    assert answer.keys() == {"nodes", "others"}
    assert [each["id"] for each in answer["nodes"]] == ["n1", "n2", "n2"]
    assert answer["nodes"][0] == CALM_NODE


async def test_one_id_may_have_two_streams(client: Client) -> None:
    answer = await client.get("/v1/nodes/n2")
    assert answer.keys() == {"id", "nodes"}
    assert answer["id"] == "n2"
    assert [each["types"] for each in answer["nodes"]] == [{"cds": REFUSED}, {}]


async def test_nodes_can_be_chosen_by_group(client: Client, world: World) -> None:
    world.tracker.joined(FakeNode("other", "silent"))
    answer = await client.get("/v1/nodes?group=silent")
    assert [each["id"] for each in answer["nodes"]] == ["other"]
    assert len((await client.get("/v1/nodes?group=default"))["nodes"]) == 3


async def test_nodes_can_be_chosen_by_connection(client: Client, world: World) -> None:
    world.tracker.left(world.nodes[0])
    gone = await client.get("/v1/nodes?connected=false")
    assert [(each["id"], each["connected"]) for each in gone["nodes"]] == [("n1", False)]
    assert len((await client.get("/v1/nodes?connected=true"))["nodes"]) == 2
    assert len((await client.get("/v1/nodes"))["nodes"]) == 3


async def test_what_is_wrong_or_not_there_is_named(client: Client) -> None:
    assert "'n9'" in (await client.problem("/v1/nodes/n9", 404))["detail"]
    assert "'nowhere'" in (await client.problem("/v1/nodes?group=nowhere", 404))["detail"]
    problem = await client.problem("/v1/nodes?connected=perhaps", 400)
    assert problem["errors"] == [{"field": "connected", "message": "found 'perhaps', expected true or false"}]


async def test_ids_with_slashes_can_be_asked_for(client: Client, world: World) -> None:
    world.tracker.joined(FakeNode("sidecar~10.0.0.1~pod/a"))
    assert (await client.get("/v1/nodes/sidecar~10.0.0.1~pod%2Fa"))["id"] == "sidecar~10.0.0.1~pod/a"

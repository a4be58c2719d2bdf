"""`/v1/sources` and `/v1/explain`."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.admin.client import Client
from tests.unit.admin.documents import ORIGIN_JSON
from tests.unit.admin.world import NOW_TEXT, World
from xds_server.wire.types import CLUSTER

ERROR = {
    "message": "Cluster has no field 'nmae'",
    "path": "world.yaml",
    "line": 7,
    "field": "nmae",
    "document": 1,
    "reason": "UnknownField",
    "object": "Cluster/one",
}


async def test_sources_tell_their_first_error_and_all_of_them(client: Client) -> None:
    assert await client.get("/v1/sources") == {
        "sources": [
            {
                "name": "files",
                "kind": "files",
                "synced": True,
                "last_sync": NOW_TEXT,
                "objects": {"Cluster": 2},
                "error": ERROR,
                "errors": [ERROR],
            }
        ]
    }


async def test_a_calm_source_has_no_error(client: Client, world: World) -> None:
    world.reports = (replace(world.source(), problems=(), last_sync=0.0, synced=False),)
    source = (await client.get("/v1/sources"))["sources"][0]
    assert (source["error"], source["errors"], source["last_sync"]) == (None, [], None)


async def test_no_more_than_a_hundred_errors_are_told(client: Client, world: World) -> None:
    source = world.source()
    world.reports = (replace(source, problems=source.problems * 250),)
    assert len((await client.get("/v1/sources"))["sources"][0]["errors"]) == 100


async def test_explain_names_the_objects(client: Client, world: World) -> None:
    for key in ("cds", CLUSTER):
        assert await client.get(f"/v1/explain?group=default&type={key}&name=one") == {
            "group": "default",
            "type": "cds",
            "name": "one",
            "version": world.second.types[CLUSTER].version_of("one"),
            "objects": [ORIGIN_JSON],
            "observations": [],
        }


async def test_explain_names_what_is_not_there(client: Client) -> None:
    assert "'nowhere'" in (await client.problem("/v1/explain?group=nowhere&type=cds&name=one", 404))["detail"]
    assert "'two'" in (await client.problem("/v1/explain?group=default&type=cds&name=two", 404))["detail"]
    xds = await client.problem("/v1/explain?group=default&type=xds&name=two", 404)
    assert xds["detail"] == "there is no type 'xds', expected one of cds, eds, lds, rds, sds or a type URL"
    await client.problem(f"/v1/explain?group=default&type={CLUSTER}x&name=two", 404)
    ghost = await client.problem("/v1/explain?group=default&type=cds&name=ghost", 404)
    assert "left out: refers to load assignment 'ghost'" in ghost["detail"]


async def test_explain_asks_for_what_it_needs(client: Client) -> None:
    problem = await client.problem("/v1/explain?type=cds", 400)
    assert [each["field"] for each in problem["errors"]] == ["group", "name"]

"""`/v1/audit`: pages, newest first."""

from __future__ import annotations

import pytest

from tests.unit.admin.client import Client
from tests.unit.admin.world import World
from xds_server.status.audit_entry import Action


async def test_pages_lead_from_the_newest_to_the_oldest(client: Client, world: World) -> None:
    for number in range(25):
        world.audit.record(Action.SETTING, f"t{number}", actor="op", before=number, after={"x": [number]})
    seen: list[str] = []
    after = ""
    while True:
        page = await client.get(f"/v1/audit?limit=10{after}")
        seen += [entry["target"] for entry in page["entries"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert seen == [f"t{number}" for number in reversed(range(25))]
    assert (await client.get("/v1/audit?limit=1"))["entries"][0]["after"] == {"x": [24]}


async def test_the_end_of_the_list(client: Client, world: World) -> None:
    assert await client.get("/v1/audit") == {"entries": [], "next": None}
    first = world.audit.record(Action.SETTING, "t", actor="op")
    assert (await client.get("/v1/audit?limit=1"))["next"] is None
    assert await client.get(f"/v1/audit?after={first.id}") == {"entries": [], "next": None}
    assert await client.get("/v1/audit?after=0") == {"entries": [], "next": None}


@pytest.mark.parametrize(
    "query", ["after=x", "after=-1", "after=", "limit=0", "limit=1001", "limit=²", f"after={'9' * 40}"]
)
async def test_wrong_parameters_are_named(client: Client, query: str) -> None:
    document = await client.problem(f"/v1/audit?{query}", 400)
    assert document["errors"][0]["field"] == query.partition("=")[0]

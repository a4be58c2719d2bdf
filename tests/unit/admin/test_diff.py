"""`/v1/groups/{group}/diff`, and the comparison of fields below it."""

from __future__ import annotations

import pytest

from tests.unit.admin.client import Client
from tests.unit.admin.world import World
from xds_server.admin.fields import REDACTED, compare


async def test_a_diff_names_what_came_and_went_and_the_fields_that_changed(client: Client, world: World) -> None:
    assert await client.get("/v1/groups/default/diff") == {
        "from": world.first.version,
        "to": world.second.version,
        "from_seq": 1,
        "to_seq": 2,
        "added": [{"type": "cds", "name": "new"}],
        "removed": [{"type": "cds", "name": "gone"}],
        "changed": [
            {
                "type": "cds",
                "name": "one",
                "fields": [
                    {"path": "connect_timeout", "from": "1s", "to": "2s"},
                    {"path": "lb_policy", "from": None, "to": "RANDOM"},
                ],
            },
            {"type": "sds", "name": "cert", "fields": [{"path": "", "from": REDACTED, "to": REDACTED}]},
        ],
    }


async def test_a_diff_may_go_backwards_and_to_itself(client: Client, world: World) -> None:
    back = await client.get("/v1/groups/default/diff?from=2&to=1")
    assert back["added"] == [{"type": "cds", "name": "gone"}]
    assert back["removed"] == [{"type": "cds", "name": "new"}]
    same = await client.get(f"/v1/groups/default/diff?from={world.first.version}&to=1")
    assert (same["added"], same["removed"], same["changed"]) == ([], [], [])


async def test_the_first_version_is_compared_with_nothing(client: Client, world: World) -> None:
    answer = await client.get("/v1/groups/default/diff?to=1")
    assert (answer["from"], answer["from_seq"], answer["to"]) == (None, 0, world.first.version)
    assert len(answer["added"]) == 5
    assert (answer["removed"], answer["changed"]) == ([], [])


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, [("a.b[1].c", 2, 3)]),
        ({"a": [1]}, {"a": [1, 2]}, [("a[1]", None, 2)]),
        ({"a": [1, 2]}, {"a": [1]}, [("a[1]", 2, None)]),
        ({}, {"a": {"b": 1}}, [("a", None, {"b": 1})]),
        ({"a": {"b": 1}}, {"a": "text"}, [("a", {"b": 1}, "text")]),
        ({"x.y": 1}, {"x.y": 2}, [('["x.y"]', 1, 2)]),
        ({"a": {"x y": 1}}, {"a": {}}, [('a["x y"]', 1, None)]),
        ({"a": True}, {"a": 1}, [("a", True, 1)]),
        ({"b": 1, "a": 1}, {"b": 2, "a": 2}, [("a", 1, 2), ("b", 1, 2)]),
        ({"a": 1}, {"a": 1}, [("", REDACTED, REDACTED)]),
    ],
)
def test_fields(before: object, after: object, fields: list[tuple[str, object, object]]) -> None:
    assert [(each.path, each.from_, each.to) for each in compare(before, after)] == fields

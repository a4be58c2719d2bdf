"""From a field's path to its line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.sources.files import load, locate, locate_all, places

TEXT = """# first
a:
  b:
  - x
  - c: 1
    "d.e": {f: [2, 3]}
---
resources:
- name: one
- &two
  name: two
  load_assignment:
    endpoints: [{lb_endpoints: []}]
- *two
"""


@pytest.mark.parametrize(
    ("document", "field", "place"),
    [
        (1, "", (2, 1)),
        (1, "a", (2, 1)),
        (1, "a.b", (3, 3)),
        (1, "a.b[0]", (4, 5)),
        (1, "a.b[1].c", (5, 5)),
        (1, 'a.b[1]["d.e"].f[1]', (6, 20)),
        (1, "a.missing", (2, 1)),
        (1, "a.b[9].c", (3, 3)),
        (2, "resources[0].name", (9, 3)),
        (2, "resources[1].load_assignment.endpoints[0].lb_endpoints", (13, 18)),
        (2, "resources[2].name", (14, 3)),
        (3, "a", (0, 0)),
    ],
)
def test_locate(document: int, field: str, place: tuple[int, int]) -> None:
    assert locate(TEXT, document, field) == place


def test_many_at_once() -> None:
    assert locate_all(TEXT, [(2, "resources[0]"), (1, "a.b"), (2, "resources[0].name")]) == [(9, 3), (3, 3), (9, 3)]


def test_json_is_located_too() -> None:
    assert locate('{"a":\n\t{"b": [1,\n\t2]}}', 1, "a.b[1]") == (3, 2)


def test_what_comes_before_an_error_is_found() -> None:
    assert locate("a:\n  b: 1\n}", 1, "a.b") == (2, 3)
    assert locate("", 1, "a") == (0, 0)


def test_places_of_problems(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("\ufeffresources:\n- 3\n- 4\n")
    (unit,) = load(tmp_path)
    nowhere = Problem(Origin("push"), "X", "x", "name")
    gone = Problem(Origin("files", str(tmp_path / "gone.yaml"), 1, 7), "X", "x", "name")
    assert places([*unit.problems, nowhere, gone]) == [(2, 3), (3, 3), (0, 0), (7, 1)]

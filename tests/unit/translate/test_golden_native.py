"""Golden cases: `tests/golden/native/CASE/in.yaml` as a file of the source, `out.yaml` what comes of it.

`TIDEGATE_GOLDEN=write` writes the outputs anew; look at the difference before you commit it.
"""

from __future__ import annotations

import io
import os
import textwrap
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from xds_server.ir.problem import Problem, ProblemError
from xds_server.sources.files import load, places
from xds_server.translate.native import decode
from xds_server.translate.render import to_json
from xds_server.wire.resource import Resource

CASES = sorted((Path(__file__).parents[2] / "golden" / "native").iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)  # so that the paths in errors are the same everywhere
    found = outcome()
    expected = Path("out.yaml")
    if os.environ.get("TIDEGATE_GOLDEN") == "write":
        expected.write_text(found)
    assert found == expected.read_text()


def outcome() -> str:
    """What the files source and the decoder make of `in.yaml`, as YAML."""
    resources: list[Resource] = []
    problems: list[Problem] = []
    for unit in load("in.yaml"):
        problems += unit.problems
        for document in unit.documents:
            try:
                resources.append(decode(document))
            except ProblemError as error:
                problems.append(error.problem)
    located = sorted(zip(places(problems), problems, strict=True), key=lambda each: each[0])
    told = [_told(problem, place) for place, problem in located]
    text = io.StringIO()
    writer = YAML()
    writer.width = 4096
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.dump({"resources": [_shown(resource) for resource in resources], "problems": told}, text)
    return text.getvalue()


def _told(problem: Problem, place: tuple[int, int]) -> dict[str, object]:
    message = LiteralScalarString("\n".join(textwrap.wrap(problem.message, 100)))
    at = f"{problem.origin.path}:{place[0]}:{place[1]}"
    return {"at": at, "reason": problem.reason, "field": problem.field, "message": message}


def _shown(resource: Resource) -> dict[str, object]:
    kinds = ("clusters", "assignments", "routes", "secrets")
    refs = {kind: sorted(names) for kind in kinds if (names := getattr(resource.refs, kind))}
    return {"name": resource.name, "needs": refs, "resource": to_json(resource)}

"""Golden cases of `validate`: the files of `tests/golden/validate/CASE/in`, and word for word what is said of them.

`TIDEGATE_GOLDEN=write` writes the outputs anew; look at the difference before you commit it.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command

ROOT = Path(__file__).parents[3]
CASES = sorted((ROOT / "tests" / "golden" / "validate").iterdir())
SOURCES = ("translate/fault.py", "translate/native.py", "snapshot/compile.py", "snapshot/closure.py")
REASON = re.compile(r'"((?:[A-Z][a-z]*){2,}|Conflict)"')
ELSEWHERE = {
    "BytesValue": "it is no reason",
    "StillReferenced": "it takes a change, so `validate` never sees it",
    "TooDeep": "the readers stop at fewer levels",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, tidegate: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)  # so that the paths in errors are the same everywhere
    found = tidegate("validate", "in", code=1).output
    expected = Path("out.txt")
    if os.environ.get("TIDEGATE_GOLDEN") == "write":
        expected.write_text(found)
    assert found == expected.read_text()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs_are_told_the_same(case: Path, tidegate: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    told = json.loads(tidegate("validate", "in", "-o", "json", code=1).output)
    text = Path("out.txt").read_text()
    for error in told["errors"]:
        place = ":".join(str(part) for part in (error["path"], error["line"], error["column"]) if part)
        assert f"{place}: error: " in text
        assert f"{error['message']} [{error['reason']}]" in text
    assert text.count(": error: ") == len(told["errors"])


def test_every_reason_has_a_case() -> None:
    code = "".join((ROOT / "xds_server" / each).read_text() for each in SOURCES)
    told = "".join(case.joinpath("out.txt").read_text() for case in CASES)
    assert {each for each in REASON.findall(code) if f"[{each}]" not in told} == ELSEWHERE.keys()

"""Errors of documents tell the line of the field, wherever the document stands in whatever file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xds_server.ir.declared import Declared, NativeDocument
from xds_server.ir.problem import Problem, ProblemError
from xds_server.sources.files import load, located
from xds_server.sources.files.located import Locating, Locator

GOOD = '"@type": a/b.C\nname: x\n'
BAD = '"@type": a/b.C\nname: y\ninner:\n  - a: 1\n  - wrong: 2\n'
FIELD = "inner[1].wrong"


def decode(document: Declared) -> str:
    """Refuses what has `inner`."""
    assert isinstance(document, NativeDocument)
    if "inner" in document.body:
        dot = "." if document.within else ""
        raise ProblemError(Problem(document.origin, "InvalidValue", "m", f"{document.within}{dot}{FIELD}"))
    return "made"


def lines(path: Path) -> list[int]:
    """The lines of all problems of a file's documents."""
    locating = Locating(decode, Locator())
    found = []
    for document in load(path)[0].documents:
        try:
            locating(document)
        except ProblemError as error:
            found.append(error.problem.origin.line)
    return found


def indented(text: str) -> str:
    first, *rest = text.splitlines()
    return "\n".join([f"- {first}", *(f"  {line}" for line in rest)]) + "\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BAD, [5]),
        (f"# comment\n\n{BAD}", [7]),
        (f"---\n{BAD}", [6]),
        (f"{GOOD}---\n{BAD}---\n{GOOD}", [8]),
        (f"{BAD}---\n{GOOD}---\n# x\n\n{BAD}", [5, 16]),
        (f"--- # first\n{GOOD}...\n---\n{BAD}", [10]),
        (f"{GOOD}text: |\n  ---\n  -----BEGIN\n---\n{BAD}", [11]),
        (f"resources:\n{indented(GOOD)}{indented(BAD)}{indented(BAD)}", [8, 13]),
        (f"{GOOD}---\nresources:\n{indented(BAD)}", [9]),
        (f"\ufeff{BAD}", [5]),
        (BAD.replace("\n", "\r\n"), [5]),
        ("---\n".join([BAD] * 50), [5 + 6 * index for index in range(50)]),
    ],
)
def test_lines_in_yaml(tmp_path: Path, text: str, expected: list[int]) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(text.encode())
    assert lines(path) == expected


def test_lines_in_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    bad = {"@type": "a/b.C", "name": "y", "inner": [1, {"wrong": 1}]}
    text = json.dumps(bad, indent=1)
    path.write_text(f"{text}\n{text}\n" + json.dumps({"resources": [bad]}, indent=1))
    at = [number for number, line in enumerate(path.read_text().splitlines(), 1) if "wrong" in line]
    assert len(at) == 3
    # Several values in one file are no YAML, so only the first is surely found.
    assert lines(path)[0] == at[0]
    path.write_text(text)
    assert lines(path) == at[:1]


def test_a_file_that_is_gone_or_another_by_now(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"{GOOD}---\n{BAD}")
    document = load(path)[0].documents[1]
    for change in (lambda: path.write_text("x: [\n"), lambda: path.write_bytes(b"\xff"), path.unlink):
        change()
        with pytest.raises(ProblemError) as caught:
            Locating(decode, Locator())(document)
        assert caught.value.problem.origin.line == 4


def test_the_time_for_one_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("---\n".join([BAD] * 3))
    monkeypatch.setattr(located, "MOST_SECONDS", 0.0)
    assert lines(path) == [5, 7, 13]


def test_problems_of_the_file_form_tell_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        f"version_info: x\nresourses: 1\nresources:\n{indented(GOOD)}- text\n---\napiVersion: v1\n\nkind: X\n"
    )
    found = [(each.field, each.origin.line) for each in load(path)[0].problems]
    assert found == [("resourses", 2), ("resources[1]", 6), ("kind", 10)]

"""docs/promises.md: each promise stands on its page in these words, and the tests that hold it exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROMISES = ROOT / "docs" / "promises.md"
TESTS = ROOT / "tests"

WITHOUT = {"docs/design/003-bytes-shared.md", "docs/design/README.md", "docs/promises.md"}
"""Pages that promise nothing for the case that something goes wrong."""


def rows() -> list[tuple[Path, str, list[str]]]:
    """Page, promise, and tests of each row."""
    found, page = [], PROMISES
    for line in PROMISES.read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"## \[.*\]\((.*)\)", line):
            page = (PROMISES.parent / heading[1]).resolve()
        elif row := re.fullmatch(r"\| (.*) \| (`.*`) \|", line):
            found.append((page, row[1], re.findall(r"`([^`]*)`", row[2])))
    return found


@cache
def names(file: str) -> set[str]:
    """The tests of a file below tests/; empty when there is none."""
    path = TESTS / file
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.is_file() else ()
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def words(page: Path) -> str:
    """A page's text on one line."""
    return " ".join(page.read_text(encoding="utf-8").split())


def test_each_promise_names_tests_that_exist() -> None:
    found = [test for _, _, tests in rows() for test in tests]
    assert len(found) > 150
    missing = [test for test in found if test.partition("::")[2] not in names(test.partition("::")[0])]
    assert not missing
    assert all("::test_" in test for test in found)
    assert not names("unit/docs/nothing.py")


def test_each_promise_stands_on_its_page() -> None:
    astray = [f"{page.name}: {promise}" for page, promise, _ in rows() if promise not in words(page)]
    assert not astray


def test_every_page_has_been_looked_at() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "design").glob("*.md")]
    looked_at = {page for page, _, _ in rows()}
    assert {str(page.relative_to(ROOT)) for page in pages if page not in looked_at} == WITHOUT

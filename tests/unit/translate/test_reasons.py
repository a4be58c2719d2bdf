"""Every reason for which something is left out is explained in the concepts."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCES = ("translate/fault.py", "translate/native.py", "snapshot/compile.py", "snapshot/closure.py")
REASON = re.compile(r'"((?:[A-Z][a-z]*){2,}|Conflict|Undecodable)"')
NOT_REASONS = {"BytesValue", "Unresolved"}
"""`Unresolved` stands for a kind of reference that does not exist yet."""


def test_reasons_are_documented() -> None:
    text = "".join((ROOT / "xds_server" / each).read_text() for each in SOURCES)
    found = set(REASON.findall(text)) - NOT_REASONS
    page = (ROOT / "docs" / "concepts.md").read_text()
    assert "NoAssignment" in found
    assert "InvalidValue" in found
    assert {each for each in found if f"`{each}`" not in page} == set()

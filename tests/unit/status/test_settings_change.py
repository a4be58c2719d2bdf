"""Which settings changed since the last start is told by key; no value can be read from what is kept."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings, strategies as st

from xds_server.status.settings_change import changed_settings

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.lists(st.text(max_size=4), max_size=3),
    lambda below: st.dictionaries(st.text("abc", min_size=1, max_size=2), below, min_size=1, max_size=3),
    max_leaves=6,
)
TREES = st.dictionaries(st.text("abc", min_size=1, max_size=2), VALUES, min_size=1, max_size=3)


def test_the_first_start_changes_nothing_and_equal_settings_do_not(tmp_path: Path) -> None:
    tree = {"xds": {"address": "127.0.0.1:1"}, "sources": [{"kind": "files"}]}
    assert changed_settings(tmp_path, tree) == []
    assert changed_settings(tmp_path, tree) == []


def test_what_changes_comes_and_goes_is_named_by_its_key(tmp_path: Path) -> None:
    changed_settings(tmp_path, {"xds": {"address": "a", "max_names": 1}, "gone": 1, "same": 1})
    changed = changed_settings(tmp_path, {"xds": {"address": "b", "max_names": 1}, "new": 1, "same": 1})
    assert changed == ["gone", "new", "xds.address"]
    assert changed_settings(tmp_path, {"xds": {"address": "b", "max_names": 1}, "new": 1, "same": 1}) == []


def test_no_value_is_kept_and_only_the_owner_reads(tmp_path: Path) -> None:
    changed_settings(tmp_path, {"security": {"password": "hunter2-and-more"}})
    (path,) = tmp_path.iterdir()
    assert "hunter2" not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_that_is_not_whole_counts_as_none(tmp_path: Path) -> None:
    changed_settings(tmp_path, {"a": 1})
    (path,) = tmp_path.iterdir()
    for damage in (b"", b"{", b"[]", b'{"": 1}', b'{"": "zz"}', b"\xff"):
        path.write_bytes(damage)
        assert changed_settings(tmp_path, {"a": 2}) == []
        assert changed_settings(tmp_path, {"a": 3}) == ["a"]


@settings(max_examples=60, deadline=None)
@given(TREES, TREES)
def test_nothing_is_named_exactly_when_nothing_differs(before: dict[str, object], after: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as name:
        changed_settings(Path(name), before)
        differs = json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True)
        assert bool(changed_settings(Path(name), after)) == differs

"""Looking again where something was heard finds what looking everywhere finds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st

from tests.unit.sources.recording import cluster, put, running
from xds_server.sources.files import reader, source
from xds_server.sources.files.reader import Reader
from xds_server.sources.files.scan import Scan, rescan, scan
from xds_server.sources.files.settle import Heard

FOLDERS = ("", "sub/", ".hidden/", "sub/deep.yaml/")
NAMES = ("a.yaml", "b.json", "notes.txt", ".a.yaml.tmp")
KEYS = tuple(folder + name for folder in FOLDERS for name in NAMES)
STEPS = ("write", "rename", "unlink", "mkdir", "rmtree", "move", "link", "pipe")


def _change(root: Path, step: str, one: str, other: str) -> set[str]:
    """Do something in a directory that `one` or `other` are keys of; the keys that the system tells of."""
    file, to = root / one, root / other
    folder, beside = file.parent, to.parent
    if step == "write" and not file.is_fifo():  # That would wait for a reader.
        file.write_text(str(file.stat().st_size if file.exists() else 0))
        return {str(file.resolve().relative_to(root.resolve()))}  # A link is not what is written.
    if step == "rename":
        file.rename(to)
        return {one, other}
    if step == "unlink":
        file.unlink()
    elif step == "mkdir":
        folder.mkdir()
        return {one.rpartition("/")[0]}
    elif step == "rmtree" and folder != root:
        shutil.rmtree(folder)
        return {one.rpartition("/")[0]}
    elif step == "move" and folder != root:
        folder.rename(beside / "moved")
        return {one.rpartition("/")[0], str((beside / "moved").relative_to(root))}
    elif step == "link":
        file.symlink_to(to)
    elif step == "pipe":
        os.mkfifo(file)
    return {one}


def _equal(found: Scan, root: Path) -> bool:
    return replace(found, is_whole=True) == scan(str(root))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(KEYS), st.sampled_from(KEYS)), max_size=20))
def test_it_finds_what_looking_everywhere_finds(steps: list[tuple[str, str, str]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "sub").mkdir()
        (root / "a.yaml").touch()
        found = scan(folder)
        for step, one, other in steps:
            try:
                keys = _change(root, step, one, other)
            except OSError:
                continue  # There is nothing to do that with.
            found = rescan(folder, found, keys)
            assert _equal(found, root), (step, one, other)


def _closed_folder(root: Path) -> str:
    (root / "sub" / "b.yaml").touch()
    return "sub"


def _new_folder(root: Path) -> str:
    (root / "new").mkdir()
    (root / "new" / "b.yaml").touch()
    return "new/b.yaml"


def _new_link(root: Path) -> str:
    (root / "b.yaml").symlink_to("a.yaml")
    return "b.yaml"


def _swap(root: Path) -> str:
    root.rename(root.with_name("old"))
    root.mkdir()
    (root / "c.yaml").touch()
    return "c.yaml"


@pytest.mark.parametrize("change", [_closed_folder, _new_folder, _new_link, _swap])
def test_where_more_may_have_changed_it_looks_everywhere(tmp_path: Path, change: Callable[[Path], str]) -> None:
    root = tmp_path / "config"
    (root / "sub").mkdir(parents=True)
    (root / "a.yaml").touch()
    before = scan(str(root))
    found = rescan(str(root), before, {change(root)})
    assert found.is_whole
    assert _equal(found, root)


def test_where_there_are_links_it_looks_everywhere(tmp_path: Path) -> None:
    """A file in a directory that is hidden, as in a mounted ConfigMap, has its name from a link."""
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data" / "a.yaml").touch()
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    before = scan(str(tmp_path))
    (tmp_path / "..data" / "a.yaml").write_text("a")
    found = rescan(str(tmp_path), before, {"..data/a.yaml"})
    assert found.files["a.yaml"].size == 1
    assert _equal(found, tmp_path)


@pytest.mark.parametrize("name", [".a.yaml.tmp", "notes.txt", ".git/index", "gone.yaml", "a.yaml"])
def test_single_files_are_looked_at_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.yaml").touch()
    before = scan(str(tmp_path))
    (tmp_path / "unheard.yaml").touch()
    found = rescan(str(tmp_path), before, {name})
    assert not found.is_whole
    assert list(found.files) == ["a.yaml"]


def test_what_waits_is_looked_at_again_without_being_heard_of(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("")
    looks = Reader("files", str(tmp_path), 0.0)
    assert [unit.key for unit in looks.look().units] == ["a.yaml"]
    slow = Reader("files", str(tmp_path), 60.0)
    assert slow.look().wait is not None
    put(file, cluster("a"))
    os.utime(file, (1, 1))
    assert [unit.key for unit in slow.look(Heard(), everywhere=False).units] == ["a.yaml"]
    assert not looks.look(Heard(), everywhere=False).units


async def test_a_source_does_not_look_everywhere_for_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The net is out of reach here, so what comes was heard."""
    monkeypatch.setattr(source, "_POLL", 600.0)
    (tmp_path / "a.yaml").write_text(cluster("a"))
    os.utime(tmp_path / "a.yaml", (1, 1))
    async with running(tmp_path) as sink:
        put(tmp_path / "b.yaml", cluster("b"))  # The watch stands once this is heard.
        await sink.shows({"a.yaml": ["a"], "b.yaml": ["b"]})
        monkeypatch.setattr(reader, "scan", lambda _: pytest.fail("looked everywhere"))
        put(tmp_path / "a.yaml", cluster("a1"))
        (tmp_path / "b.yaml").write_text(cluster("b1"))
        await sink.shows({"a.yaml": ["a1"], "b.yaml": ["b1"]})
        (tmp_path / "a.yaml").rename(tmp_path / "c.yaml")
        await sink.shows({"b.yaml": ["b1"], "c.yaml": ["a1"]})
        (tmp_path / "b.yaml").unlink()
        await sink.shows({"c.yaml": ["a1"]})

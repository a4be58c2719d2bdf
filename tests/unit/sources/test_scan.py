"""Which files of a directory count, and reading them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.sources.recording import cluster
from xds_server.sources.files import content
from xds_server.sources.files.content import ChangedError, UnreadableError, read
from xds_server.sources.files.reader import Reader, load
from xds_server.sources.files.scan import Scan, Signature, group_of, is_watched, scan


def keys(path: Path) -> list[str]:
    return list(scan(str(path)).files)


@pytest.mark.parametrize("name", ["a.yaml", "b.yml", "c.json", "D.YAML", "e.f.yaml"])
def test_files_that_count(name: str) -> None:
    assert is_watched(name)


@pytest.mark.parametrize(
    "name", [".a.yaml", "a.yaml~", "#a.yaml#", ".#a.yaml", "a.yaml.swp", "~a.yaml", "a.txt", "4913"]
)
def test_files_that_do_not(name: str) -> None:
    assert not is_watched(name)


@pytest.mark.parametrize(
    ("key", "group"),
    [
        ("a.yaml", "default"),
        ("group=edge/a.yaml", "edge"),
        ("group=edge/deep/a.yaml", "edge"),
        ("deep/group=edge/a.yaml", "default"),
        ("group=/a.yaml", "default"),
        ("group=edge.yaml", "default"),
    ],
)
def test_groups(key: str, group: str) -> None:
    assert group_of(key) == group


def test_a_mounted_configmap_is_seen_once(tmp_path: Path) -> None:
    (tmp_path / "..2026_01").mkdir()
    (tmp_path / "..2026_01" / "a.yaml").write_text("")
    (tmp_path / "..data").symlink_to("..2026_01")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    (tmp_path / "dangling.yaml").symlink_to("..data/gone.yaml")
    found = scan(str(tmp_path))
    assert list(found.files) == ["a.yaml"]
    assert found.files["a.yaml"].link.endswith("..2026_01/a.yaml")


def test_links_to_directories_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.yaml").write_text("")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "up").symlink_to("..")
    (tmp_path / "self.yaml").symlink_to("self.yaml")
    found = scan(str(tmp_path))
    assert list(found.files) == ["link/a.yaml", "real/a.yaml"]
    assert list(found.unreadable) == ["self.yaml"]


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    assert scan(str(tmp_path / "gone")).error == "no such file or directory"


def test_reading_refuses_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (unit,) = load(tmp_path)
    assert unit.broken
    assert unit.problems[0].message == "can't be read: it is no regular file"


def test_reading_refuses_what_is_too_big(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text("# 123456789")
    monkeypatch.setattr(content, "BIGGEST", 10)
    (unit,) = load(tmp_path)
    assert unit.broken
    assert unit.problems[0].reason == "TooBig"
    assert "11 bytes" in unit.problems[0].message


def test_reading_notices_that_the_file_is_another(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a")
    seen = scan(str(tmp_path)).files["a.yaml"]
    assert read(str(file), seen) == b"a"
    file.write_text("ab")
    with pytest.raises(ChangedError):
        read(str(file), seen)
    file.unlink()
    with pytest.raises(ChangedError):
        read(str(file), seen)


def test_a_passing_error_is_tried_again_and_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text("")
    reader = Reader("files", str(tmp_path), 0.0)

    def refuse(_path: str, _seen: Signature) -> bytes:
        raise UnreadableError("Unreadable", "too many open files", is_passing=True)

    with monkeypatch.context() as patch:
        patch.setattr("xds_server.sources.files.reader.read", refuse)
        assert [unit.broken for unit in reader.look().units] == [True]
        assert not reader.look().units
    assert [unit.broken for unit in reader.look().units] == [False]


def test_what_is_closed_is_told_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.yaml").write_text("")
    reader = Reader("files", str(tmp_path), 0.0)
    assert [unit.key for unit in reader.look().units] == ["sub/a.yaml"]
    closed = Scan(unreadable={"sub": "permission denied"}, root=(1, 1))
    with monkeypatch.context() as patch:
        patch.setattr("xds_server.sources.files.reader.scan", lambda _: closed)
        look = reader.look()
        assert [(unit.key, unit.broken) for unit in look.units] == [("sub", True)]
        assert not look.removed
        assert not reader.look().units
    assert reader.look().removed == ("sub",)
    assert not reader.look().removed


def test_load_tells_of_a_path_that_is_not_there(tmp_path: Path) -> None:
    (unit,) = load(tmp_path / "gone")
    assert unit.broken
    assert str(unit.problems[0]) == f"{tmp_path / 'gone'}: can't be read: no such file or directory"


def test_load_of_a_thousand_files(tmp_path: Path) -> None:
    for number in range(1000):
        (tmp_path / f"{number}.yaml").write_text("")
    units = load(tmp_path)
    assert len(units) == 1000
    assert [unit.key for unit in units] == sorted(unit.key for unit in units)


def test_what_is_no_file_is_told_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "good.yaml").write_text("")
    found = scan(str(tmp_path))
    assert set(found.files) == {"good.yaml"}
    assert found.unreadable == dict.fromkeys(["pipe.yaml", "zero.yaml"], "it is no regular file")


def test_names_that_are_not_utf8_are_told_and_left_alone(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    (tmp_path / "good.yaml").write_text("")
    Path(os.fsdecode(folder + b"/\xff.yaml")).touch()
    Path(os.fsdecode(folder + b"/group=\xff")).mkdir()
    found = scan(str(tmp_path))
    assert set(found.files) == {"good.yaml"}
    assert set(found.unreadable) == {"\\xff.yaml", "group=\\xff"}
    assert all(key.isprintable() for key in found.unreadable)


def test_load_ends_whatever_lies_in_the_directory(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "kernel.yaml").symlink_to("/proc/kmsg")
    (tmp_path / "good.yaml").write_text(cluster("a"))
    units = {unit.key: unit for unit in load(tmp_path)}
    assert len(units["good.yaml"].documents) == 1
    assert units["pipe.yaml"].problems
    assert units["kernel.yaml"].problems


def test_load_reads_a_file_that_changes_while_it_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(cluster("a"))
    calls: list[str] = []

    def read_late(path: str, seen: Signature) -> bytes:
        calls.append(path)
        if len(calls) == 1:
            raise ChangedError
        return read(path, seen)

    monkeypatch.setattr("xds_server.sources.files.reader.read", read_late)
    (unit,) = load(tmp_path)
    assert len(unit.documents) == 1
    assert len(calls) == 2

"""Archives in the place of files: what is taken, and what is not."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.unit.admin.documents import cluster, endpoints
from tests.unit.cli.conftest import Command
from xds_server.cli import archive
from xds_server.cli.archive import ArchiveError, unpacked

GOOD = json.dumps({"resources": [cluster("one"), endpoints("one", 80)]}).encode()


def make(path: Path, *members: tuple[str, bytes] | tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                packed.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                packed.addfile(info, io.BytesIO(member[1]))
    return path


def test_an_archive_is_rendered(tidegate: Command, tmp_path: Path) -> None:
    path = make(tmp_path / "a.tar.gz", ("resources/group=edge/a.json", GOOD), ("nodes.json", b"{}"))
    (group,) = json.loads(tidegate("render", str(path), "-o", "json").stdout)["groups"]
    assert (group["group"], len(group["resources"])) == ("edge", 2)


def test_what_was_unpacked_goes(tmp_path: Path) -> None:
    path = make(tmp_path / "a.tar.gz", ("resources/a.json", GOOD), ("other.json", b"{}"))
    with unpacked([path, tmp_path]) as (folder, same):
        assert [each.name for each in folder.parent.rglob("*.json")] == ["a.json"]
        assert same == tmp_path
    assert not folder.exists()


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "member",
    [
        ("../evil.json", GOOD),
        ("resources/../../evil.json", GOOD),
        ("/tmp/evil.json", GOOD),
        link("resources/evil.json", "/etc/passwd", tarfile.SYMTYPE),
        link("resources/evil.json", "resources/a.json", tarfile.LNKTYPE),
        link("resources/evil.json", "", tarfile.FIFOTYPE),
        link("resources/evil.json", "", tarfile.CHRTYPE),
    ],
    ids=["up", "through", "root", "symlink", "hardlink", "pipe", "device"],
)
def test_no_way_leads_out(tidegate: Command, tmp_path: Path, member: tuple[str, bytes] | tarfile.TarInfo) -> None:
    path = make(tmp_path / "a.tar.gz", member)
    output = tidegate("render", str(path), code=1).stderr
    assert "leads out of it, or is no file" in output
    assert not list(tmp_path.rglob("evil.json"))


@pytest.mark.parametrize(("name", "most"), [("MOST_ENTRIES", 1), ("MOST_BYTES", 100)])
def test_an_archive_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    monkeypatch.setattr(archive, name, most)
    path = make(tmp_path / "a.tar.gz", ("resources/a.json", GOOD), ("resources/b.json", GOOD))
    with pytest.raises(ArchiveError, match="holds more than"), unpacked([path]):
        pass


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\x00broken"])
def test_what_is_no_archive_is_told(tidegate: Command, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.tgz"
    path.write_bytes(content)
    assert "can't be read as an archive" in tidegate("render", str(path), code=1).stderr


def test_an_archive_of_something_else_is_told(tidegate: Command, tmp_path: Path) -> None:
    path = make(tmp_path / "a.tar.gz", ("other.json", b"{}"))
    assert "no archive of `tidegate export`" in tidegate("render", str(path), code=1).stderr

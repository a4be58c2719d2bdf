"""Pushed sets on disk: any sequence of changes is there after a restart; secrets are not in the clear; damage is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from xds_server.ir.declared import EncodedDocument
from xds_server.ir.origin import Origin
from xds_server.snapshot.history import appended
from xds_server.snapshot.history.pushed import PushedFile
from xds_server.snapshot.history.vault import Vault
from xds_server.sources.push.book import Book
from xds_server.sources.push.model import Limits, Place, Push
from xds_server.wire.types import CLUSTER, SECRET

A, B = Place("a", "g"), Place("b", "h")
KEY = b"a planted secret"


def document(name: str, content: bytes = b"x", url: str = CLUSTER) -> EncodedDocument:
    return EncodedDocument("g", url, name, content, Origin("push", "a", 1, 0, url, "Cluster", "g", name))


def vault(key: bytes | None = None) -> Vault:
    return Vault(lambda resource: resource.type_url == SECRET, key)


def listed(folder: Path) -> list[str]:
    return [str(each) for each in folder.iterdir()]


def fail(error: OSError) -> None:
    raise error


@asynccontextmanager
async def opened(path: Path, key: bytes | None = None) -> AsyncIterator[PushedFile]:
    file = PushedFile(path, vault(key), fail)
    task = asyncio.create_task(file.writer.run())
    yield file
    await file.writer.close()
    await task


def told(file: PushedFile) -> dict[Place, tuple[str, float | None, dict[str, bytes]]]:
    return {
        place: (each.version, each.lease, {name: document.body for (_, name), document in each.resources.items()})
        for place, each in file.restored.items()
    }


async def test_what_was_in_force_is_there_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appended, "_SMALL", 2000)
    path, book = tmp_path / "push" / "sets", Book(Limits())
    async with opened(path) as file:
        assert told(file) == {}
        file.keep(book.put(A, Push("1", [document(f"c{n}") for n in range(1200)], lease=5.0), 0.0))
        file.keep(book.put(B, Push("1", [document("p")]), 0.0))
        await file.writer.flushed()
        size = path.stat().st_size
        for number in range(40):
            name = document(f"c{number}", b"y")
            file.keep(book.patch(A, Push(f"p{number}", [name], [(CLUSTER, f"c{number + 100}")]), 0.0))
            await file.writer.flushed()
        assert path.stat().st_size < 2 * size
        await file.writer.flushed()
        size = path.stat().st_size
        file.keep(book.patch(A, Push("p39"), 1.0))
        await file.writer.flushed()
        assert path.stat().st_size == size, "a lease that is renewed is not written"
        file.keep(book.delete(B))
    wanted = {name: document.body for (_, name), document in book.sets[A].resources.items()}
    for _ in range(2):
        async with opened(path) as file:
            assert told(file) == {A: ("p39", 5.0, wanted)}
            assert not file.faults
            origin = file.restored[A].resources[CLUSTER, "c1"].origin
            assert (origin.path, origin.namespace, origin.name) == ("a", "g", "c1")
            file.keep(book.put(B, Push("1", []), 0.0))
            file.keep(book.delete(B))


async def test_the_first_to_come_is_the_first_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path / "sets") as file:
        book = Book(Limits())
        for owner in "zax":
            file.keep(book.put(Place(owner, "g"), Push("1", [document(owner)]), 0.0))
    async with opened(tmp_path / "sets") as file:
        assert [place.owner for place in file.restored] == ["z", "a", "x"]


async def test_what_is_removed_at_the_same_version_is_stored(tmp_path: Path) -> None:
    path, book = tmp_path / "sets", Book(Limits())
    async with opened(path) as file:
        file.keep(book.put(A, Push("1", [document("s", KEY, SECRET), document("c")]), 0.0))
    async with opened(path) as file:
        book = Book(Limits())
        book.restore(A, file.restored[A], 0.0)
        file.keep(book.patch(A, Push("1", [document("c")], [(SECRET, "s")]), 0.0))
    assert told(PushedFile(path, vault(), fail))[A][2] == {"c": b"x"}


@pytest.mark.parametrize("key", [None, b"k" * 32])
async def test_secrets_are_left_out_or_encrypted(tmp_path: Path, key: bytes | None) -> None:
    path = tmp_path / "sets"
    async with opened(path, key) as file:
        file.keep(Book(Limits()).put(A, Push("1", [document("s", KEY, SECRET), document("c")]), 0.0))
    assert KEY not in path.read_bytes()
    for _ in range(2):
        async with opened(path, key) as file:
            assert told(file)[A][2] == {"s": b"" if key is None else KEY, "c": b"x"}
            file.keep(Book(Limits()).put(B, Push("1", []), 0.0))


async def test_a_torn_end_is_forgotten_and_a_corrupt_file_is_set_aside(tmp_path: Path) -> None:
    path, book = tmp_path / "sets", Book(Limits())
    async with opened(path) as file:
        file.keep(book.put(A, Push("1", [document("c")]), 0.0))
        await file.writer.flushed()
        whole = path.stat().st_size
        file.keep(book.patch(A, Push("2", [document("d")]), 0.0))
    data = path.read_bytes()
    path.write_bytes(data[:-3])
    assert told(PushedFile(path, vault(), fail)) == {A: ("1", None, {"c": b"x"})}
    path.write_bytes(data[: whole + 14] + b"?" + data[whole + 15 :])
    file = PushedFile(path, vault(), fail)
    assert told(file) == {A: ("1", None, {"c": b"x"})}
    assert [each.path for each in file.faults] == [str(path)]
    assert "1 sets before that are whole" in file.faults[0].message
    assert listed(tmp_path) == [file.faults[0].set_aside]


async def test_after_an_error_everything_is_written_anew(tmp_path: Path) -> None:
    path, book = tmp_path / "push" / "sets", Book(Limits())
    failed = asyncio.Event()
    file = PushedFile(path, vault(), lambda _error: failed.set())
    task = asyncio.create_task(file.writer.run())
    file.keep(book.put(A, Push("1", [document("c")]), 0.0))
    await file.writer.flushed()
    path.unlink()
    path.mkdir()
    file.keep(book.patch(A, Push("2", [document("d")]), 0.0))
    file.keep(book.patch(B, Push("1", [document("e")]), 0.0))
    await failed.wait()
    path.rmdir()
    await file.writer.flushed()
    await file.writer.close()
    await task
    assert told(PushedFile(path, vault(), fail)) == {
        A: ("2", None, {"c": b"x", "d": b"x"}),
        B: ("1", None, {"e": b"x"}),
    }

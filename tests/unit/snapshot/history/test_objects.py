"""Objects on disk: they come back as they were, secrets only where there is a key, and of a corrupt file nothing."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from k8s_source.kinds.decode import decode_manifest
from tests.support.golden import CASES, standings_of
from tests.unit.k8s_source.manifests import Body, decoded, endpoint_slice, gateway, pair, route, service, tls_secret
from xds_server.ir.objects import Object, ObjectKey
from xds_server.snapshot.history import appended
from xds_server.snapshot.history.objects import ObjectFile
from xds_server.snapshot.history.segments import write_whole
from xds_server.snapshot.history.vault import Vault

KEY = b"k" * 32
ALL = [gateway(route()), service(), endpoint_slice("cart-1", "cart", "10.0.0.1", "10.0.0.2"), tls_secret(*pair())]


def opened(path: Path, key: bytes | None = None) -> ObjectFile:
    vault = Vault(lambda _: pytest.fail("nobody asks it"), key)
    return ObjectFile(path, vault, decode_manifest, lambda error: pytest.fail(str(error)))


def made(*bodies: Body) -> dict[ObjectKey, Object | None]:
    return {each.key: each for each in map(decoded, bodies)}


def found(file: ObjectFile) -> dict[ObjectKey, Object]:
    assert not file.faults
    return {each.key: each for each in file.restored.objects}


async def written(file: ObjectFile, *changes: dict[ObjectKey, Object | None]) -> None:
    """Each change in a step of its own."""
    task = asyncio.create_task(file.writer.run())
    for each in changes:
        file.keep(each)
        await file.writer.flushed()
    await file.writer.close()
    await task


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_every_field_comes_back_as_it_was(tmp_path: Path, case: Path) -> None:
    standings = standings_of(case / "in.yaml")
    objects = {key: each.object for key, each in standings.items() if each is not None and each.object is not None}
    await written(opened(tmp_path / "o", KEY), dict(objects))
    assert found(opened(tmp_path / "o", KEY)) == objects


async def test_changes_are_appended_and_only_what_is_not_as_before(tmp_path: Path) -> None:
    path = tmp_path / "objects" / "o"
    world, more = made(*ALL), made(service("pay"))
    moved = {key: Object(key, each.value, each.origin, each.folder_group) for key, each in world.items() if each}
    file = opened(path, KEY)
    sizes = []
    task = asyncio.create_task(file.writer.run())
    for changes in (world, more, {**moved, **more}, dict.fromkeys(more), made(service("cart", {"port": 81}))):
        file.keep(changes)
        await file.writer.flushed()
        sizes.append(path.stat().st_size)
    await file.writer.close()
    await task
    assert sizes[0] < sizes[1] == sizes[2] < sizes[3] < sizes[4]
    assert found(opened(path, KEY)) == world | made(service("cart", {"port": 81}))
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_secrets_are_withheld_without_a_key_and_unreadable_without_it(tmp_path: Path) -> None:
    await written(opened(tmp_path / "plain"), made(*ALL))
    await written(opened(tmp_path / "sealed", KEY), made(*ALL))
    for path, key in ((tmp_path / "plain", KEY), (tmp_path / "sealed", b"x" * 32)):
        marker = pair()[1].splitlines()[1].encode()
        assert marker not in path.read_bytes()
        file = opened(path, key)
        assert found(file) == made(*ALL[:-1])
        assert [(each.kind, each.name) for each in file.restored.withheld] == [("Secret", "shop-tls")]
    assert found(opened(tmp_path / "sealed", KEY)) == made(*ALL)


async def test_what_ends_too_soon_is_cut_off_and_of_what_is_corrupt_nothing_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "o"
    await written(opened(path), made(service()), made(service("pay")))
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    assert found(opened(path)) == made(service())
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    file = opened(path)
    assert file.restored.objects == []
    assert [Path(each.set_aside).parent for each in file.faults] == [tmp_path]
    assert not opened(path).faults


async def test_what_this_version_does_not_take_any_more_is_withheld(tmp_path: Path) -> None:
    await written(opened(tmp_path / "o"), made(service()))
    vault = Vault(lambda _: True)
    file = ObjectFile(tmp_path / "o", vault, lambda *_: (), lambda error: pytest.fail(str(error)))
    assert (file.restored.objects, [each.name for each in file.restored.withheld]) == ([], ["cart"])


async def test_after_an_error_all_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[OSError] = []
    failing = [True]

    def write(path: Path, data: bytes) -> None:
        if failing:
            failing.pop()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_whole(path, data)

    monkeypatch.setattr(appended, "write_whole", write)
    file = ObjectFile(tmp_path / "o", Vault(lambda _: True), decode_manifest, errors.append)
    task = asyncio.create_task(file.writer.run())
    file.keep(made(service()))
    file.keep(made(service("pay")))
    async with asyncio.timeout(20):
        await file.writer.flushed()
    await file.writer.close()
    await task
    assert [each.errno for each in errors] == [errno.ENOSPC]
    assert found(opened(tmp_path / "o")) == made(service(), service("pay"))

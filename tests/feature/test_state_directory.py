"""What operations.md says of `state_dir`: a full disk, a copy, a directory that is gone, who may read it."""

from __future__ import annotations

import asyncio
import resource
import shutil
import stat
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.conformance.client import SLACK
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Restartable, restartable
from tests.conformance.wire import BOTH
from tests.feature.restarts import keeping, send, take_away
from xds_server.demo.polling import until
from xds_server.demo.world import Document

pytestmark = pytest.mark.timeout(120)

LARGEST = 64 * 1024
"""Bytes that a file may have while the disk is full: room for the log, and for none of these snapshots."""


def _large(mark: int) -> Document:
    document = marked("cds", "a", mark)
    document["metadata"] = {"filter_metadata": {"padding": {"bytes": "x" * 2 * LARGEST}}}
    return document


def _limit(server: Restartable, size: int) -> None:
    """Let no write of the server go beyond so many bytes of a file: it fails as on a disk that is full."""
    resource.prlimit(server.plane.child.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def _metric_is(server: Restartable, name: str, value: float) -> None:
    async def shown() -> bool:
        return await server.metric(name) == value

    await until(shown, within=10 * SLACK, what=f"{name} is {value}")


async def test_a_full_disk_is_told_and_tried_again_and_what_is_served_is_not_affected(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server, AsyncExitStack() as stack:
        world = World(server.files, "g")
        world.write("world", _large(1))
        streams = [await Clients(server.xds, stack).stream(variant, world) for variant in BOTH]
        for stream in streams:
            stream.ask("cds")
            await stream.holding("cds", {"a": 1})
        await _metric_is(server, "tidegate_state_stored_seq", 1)
        _limit(server, LARGEST)
        for mark in (2, 3):
            world.write("world", _large(mark))
            for stream in streams:
                await stream.holding("cds", {"a": mark})
        await _metric_is(server, "tidegate_state_up", 0)
        assert await server.metric("tidegate_state_stored_seq") == 1
        assert "state_not_written" in server.plane.child.tail(100)
        _limit(server, resource.RLIM_INFINITY)
        await _metric_is(server, "tidegate_state_up", 1)
        await _metric_is(server, "tidegate_state_stored_seq", 3)
        version = (await server.group(world))["version"]
        await server.plane.child.kill()
        take_away(server)
        await server.plane.start()
        assert (await server.group(world))["version"] == version


async def test_without_its_state_directory_it_starts_as_if_for_the_first_time(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        world = World(server.files, "g")
        world.write("world", marked("cds", "a", 1))
        await server.served(world)
        world.write("world", marked("cds", "a", 2))
        group = await server.served(world, after=1)
        await server.plane.child.kill()
        shutil.rmtree(tmp_path / "state")
        await server.plane.start()
        assert ((await server.group(world))["version"], (await server.group(world))["seq"]) == (group["version"], 1)
        await server.plane.child.kill()
        shutil.rmtree(tmp_path / "state")
        (world.folder / "world.yaml").unlink()
        await server.plane.start()
        assert await server.plane.ready(), "to start with nothing on purpose"
        assert (await server.request("/v1/groups/g"))[0] == 404


async def test_a_copy_of_the_state_taken_at_any_time_holds_a_snapshot_that_was_served(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "state"
    async with keeping(tmp_path) as server:
        world = World(server.files, "g")
        number = 0

        async def publish() -> None:
            nonlocal number
            while True:
                number += 1
                world.write("world", *(marked("cds", f"c{each}", number) for each in range(8)))
                await asyncio.sleep(0.02)

        publishing = asyncio.create_task(publish())
        await server.served(world, after=20)
        await asyncio.to_thread(shutil.copytree, server.plane.files.with_name("state"), copy)
        publishing.cancel()
        last = number
    async with keeping(copy.parent) as server:
        group = await server.group(world)
        content = await server.get(f"/v1/groups/g/versions/{group['seq']}")
        marks = {each["resource"]["alt_stat_name"] for each in content["resources"]}
        assert group["counts"]["cds"] == 8
        assert len(marks) == 1
        assert 0 < int(marks.pop().removeprefix("mark-").removesuffix(";")) <= last


async def test_the_state_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        world = World(server.files, "g")
        world.write("world", marked("cds", "a", 1))
        await _metric_is(server, "tidegate_state_stored_seq", 1)
        root = tmp_path / "state"
        assert (root / "lock").exists()
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [root, *root.rglob("*")]}
    open_to_others = {str(path.relative_to(tmp_path)): oct(mode) for path, mode in modes.items() if mode & 0o077}
    assert not open_to_others


async def test_on_a_full_disk_a_rollback_and_its_release_say_that_they_are_not_stored(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        world = World(server.files, "g")
        for mark in (1, 2):
            world.write("world", _large(mark))
            await server.served(world, after=mark - 1)
            await _metric_is(server, "tidegate_state_stored_seq", mark)
        assert (await server.group(world))["stored"]
        path = ("v1", "groups", world.group, "rollback")
        _limit(server, LARGEST)
        held = await send(server, "POST", *path, to=1, reason="slow")
        assert (held["held"]["to"], held["held"]["stored"], held["stored"]) == (held["version"], False, False)
        assert await server.group(world) == held
        line = next(each for each in server.plane.child.tail(100).splitlines() if "state_not_written" in each)
        assert str(tmp_path / "state") in line
        _limit(server, resource.RLIM_INFINITY)
        await _metric_is(server, "tidegate_state_stored_seq", 3)
        stored = await server.group(world)
        assert (stored["held"]["stored"], stored["stored"]) == (True, True)
        _limit(server, LARGEST)
        released = await send(server, "DELETE", *path, reason="repaired")
        assert (released["held"], released["stored"]) == (None, False)


async def test_on_a_full_disk_a_push_says_that_it_is_not_stored(tmp_path: Path) -> None:
    settings = {"sources": [{"kind": "push"}], "state_dir": str(tmp_path / "state")}
    path = ("v1", "push", "billing", "default")
    async with restartable(tmp_path, settings) as server:
        first = await send(server, "PUT", *path, version="1", resources=[_large(1)])
        assert first["stored"]
        _limit(server, LARGEST)
        second = await send(server, "PUT", *path, version="2", resources=[_large(2)])
        group = await server.get("/v1/groups/default")
        assert second["snapshot"] == {"version": group["version"], "seq": group["seq"]}
        assert second["snapshot"] != first["snapshot"]
        assert (second["stored"], group["stored"]) == (False, False)
        _limit(server, resource.RLIM_INFINITY)
        await _metric_is(server, "tidegate_state_up", 1)
        assert (await send(server, "PATCH", *path, version="2"))["stored"]

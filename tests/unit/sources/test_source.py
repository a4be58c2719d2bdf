"""The files source at work on real directories."""

from __future__ import annotations

import asyncio
import codecs
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.unit.sources.recording import LIMIT, cluster, put, running

SETTLED = 0.6
"""Seconds of quiet in tests that must tell a file that waits for them from one that does not."""


_NOBODY = 65534


async def test_hands_over_all_and_syncs(tmp_path: Path) -> None:
    (tmp_path / "group=edge").mkdir()
    (tmp_path / "a.yaml").write_text(cluster("a") + "---\n" + cluster("b"))
    (tmp_path / "group=edge" / "c.json").write_text('{"@type": "t/x.Y", "name": "c"}')
    async with running(tmp_path) as sink:
        assert sink.names() == {"a.yaml": ["a", "b"], "group=edge/c.json": ["c"]}
        assert [each.group for each in sink.units["group=edge/c.json"].documents] == ["edge"]
        assert sink.is_synced
        assert len(sink.calls) == 1


async def test_an_empty_directory_is_synced_with_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as sink:
        assert sink.is_synced
        assert not sink.calls
        assert not sink.is_failed


async def test_a_single_file(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(cluster("a"))
    (tmp_path / "other.yaml").write_text(cluster("b"))
    async with running(file) as sink:
        assert sink.names() == {"one.yaml": ["a"]}
        assert sink.units["one.yaml"].documents[0].origin.path == str(file)
        put(file, cluster("c"))
        await sink.shows({"one.yaml": ["c"]})


async def test_without_watch_it_reads_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(cluster("a"))
    async with running(tmp_path, watch=False, settle=0.0) as sink:
        assert sink.is_synced
        put(tmp_path / "a.yaml", cluster("b"))
        await asyncio.sleep(1.5)
        assert sink.names() == {"a.yaml": ["a"]}


async def test_files_come_change_and_go(tmp_path: Path) -> None:
    async with running(tmp_path) as sink:
        (tmp_path / "a.yaml").write_text(cluster("a"))
        await sink.shows({"a.yaml": ["a"]})
        (tmp_path / "deep" / "down").mkdir(parents=True)
        (tmp_path / "deep" / "down" / "b.yaml").write_text(cluster("b"))
        await sink.shows({"a.yaml": ["a"], "deep/down/b.yaml": ["b"]})
        (tmp_path / "a.yaml").write_text(cluster("a2"))
        await sink.shows({"a.yaml": ["a2"], "deep/down/b.yaml": ["b"]})
        (tmp_path / "a.yaml").unlink()
        await sink.shows({"deep/down/b.yaml": ["b"]})
        shutil.rmtree(tmp_path / "deep")
        await sink.shows({})


async def test_a_renamed_file_moves_in_one_step(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(cluster("a"))
    async with running(tmp_path) as sink:
        (tmp_path / "a.yaml").rename(tmp_path / "b.yaml")
        await sink.shows({"b.yaml": ["a"]})
        assert sink.calls[1:] == [(("b.yaml",), ("a.yaml",))]


async def test_a_new_file_that_is_renamed_into_place_does_not_wait_to_settle(tmp_path: Path) -> None:
    async with running(tmp_path, settle=60.0) as sink:
        draft = tmp_path / ".a.yaml.tmp"
        draft.write_text(cluster("a"))
        draft.rename(tmp_path / "a.yaml")
        await sink.shows({"a.yaml": ["a"]})


async def test_what_is_the_same_is_not_handed_over_again(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(cluster("a"))
    (tmp_path / "b.yaml").write_text(cluster("b"))
    async with running(tmp_path) as sink:
        (tmp_path / "a.yaml").touch()
        put(tmp_path / "b.yaml", cluster("b"))
        put(tmp_path / "c.yaml", cluster("c"))
        await sink.shows({"a.yaml": ["a"], "b.yaml": ["b"], "c.yaml": ["c"]})
        assert sink.calls == [(("a.yaml", "b.yaml"), ()), (("c.yaml",), ())]


async def test_a_broken_file_is_told_and_repaired(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(cluster("good"))
    (tmp_path / "bad.yaml").write_text("a: [\n")
    async with running(tmp_path) as sink:
        bad = sink.units["bad.yaml"]
        assert bad.broken
        assert bad.problems[0].origin.path == str(tmp_path / "bad.yaml")
        assert bad.problems[0].origin.line == 2
        put(tmp_path / "bad.yaml", cluster("bad"))
        await sink.shows({"bad.yaml": ["bad"], "good.yaml": ["good"]})
        assert not sink.units["bad.yaml"].broken


async def test_a_directory_that_vanishes_and_comes_back(tmp_path: Path) -> None:
    root = tmp_path / "config"
    root.mkdir()
    (root / "a.yaml").write_text(cluster("a"))
    async with running(root) as sink:
        for round_ in range(2):
            shutil.rmtree(root)
            await sink.until(lambda: sink.is_failed)
            assert "a.yaml" in sink.names()
            assert sink.failures[-1].reason == "PathUnreadable"
            assert sink.failures[-1].origin.path == str(root)
            root.mkdir()
            (root / "a.yaml").write_text(cluster(f"a{round_}"))
            await sink.shows({"a.yaml": [f"a{round_}"]})
            assert sink.recoveries == round_ + 1
            # The fresh directory is watched, not only looked at: an immediate change is heard.
            put(root / "a.yaml", cluster(f"b{round_}"))
            await sink.shows({"a.yaml": [f"b{round_}"]})


async def test_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    root = tmp_path / "config"
    async with running(root) as sink:
        assert not sink.is_synced
        assert len(sink.failures) == 1
        root.mkdir()
        (root / "a.yaml").write_text(cluster("a"))
        await sink.shows({"a.yaml": ["a"]})
        await sink.until(lambda: sink.is_synced)
        assert not sink.is_failed


async def test_a_directory_that_is_swapped_for_another(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "a.yaml").write_text(cluster("one"))
    (tmp_path / "two" / "a.yaml").write_text(cluster("two"))
    root = tmp_path / "config"
    root.symlink_to("one")
    async with running(root) as sink:
        assert sink.names() == {"a.yaml": ["one"]}
        fresh = tmp_path / "fresh"
        fresh.symlink_to("two")
        fresh.replace(root)
        await sink.shows({"a.yaml": ["two"]})


async def test_a_thousand_files_start_and_change_quickly(tmp_path: Path) -> None:
    for number in range(1000):
        (tmp_path / f"{number:04}.yaml").write_text(cluster(f"c{number}"))
    started = time.monotonic()
    async with running(tmp_path) as sink:
        assert time.monotonic() - started < 10
        assert len(sink.units) == 1000
        before = len(sink.calls)
        put(tmp_path / "0500.yaml", cluster("other"))
        await sink.until(lambda: sink.names()["0500.yaml"] == ["other"])
        assert sink.calls[before:] == [(("0500.yaml",), ())]


async def test_big_files_do_not_hold_the_loop(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_text("---\n".join(cluster(f"c{number}") for number in range(20_000)))
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            longest = max(longest, time.monotonic() - before)

    task = asyncio.create_task(tick())
    async with running(tmp_path) as sink:
        task.cancel()
        assert len(sink.units["big.yaml"].documents) == 20_000
    assert longest < 0.5


@pytest.fixture
def nobody(tmp_path: Path) -> Iterator[None]:
    """Be somebody whom file permissions bind: root may read everything."""
    if os.geteuid() != 0:
        yield
        return
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o777)
    codecs.lookup("utf-8-sig")  # Read in now: the interpreter's own files may be closed to nobody.
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_a_file_without_rights(tmp_path: Path, nobody: None) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(cluster("a"))
    file.chmod(0)
    async with running(tmp_path) as sink:
        assert sink.units["a.yaml"].problems[0].reason == "Unreadable"
        file.chmod(0o600)
        await sink.shows({"a.yaml": ["a"]})


async def test_what_can_not_be_read_any_more_is_broken_and_not_gone(tmp_path: Path, nobody: None) -> None:
    """Rights, a loop of links, broken YAML: the last good content stays (`Unit.broken`)."""
    for name in ("closed", "loop", "syntax"):
        (tmp_path / f"{name}.yaml").write_text(cluster(name))
    async with running(tmp_path) as sink:
        (tmp_path / "closed.yaml").chmod(0)
        (tmp_path / "loop.yaml").unlink()
        (tmp_path / "loop.yaml").symlink_to("loop.yaml")
        put(tmp_path / "syntax.yaml", "a: [")
        await sink.until(lambda: all(unit.broken for unit in sink.units.values()))
        await asyncio.sleep(SETTLED)
        assert set(sink.units) == {"closed.yaml", "loop.yaml", "syntax.yaml"}
        assert all(unit.broken and unit.problems for unit in sink.units.values())


async def test_what_is_not_there_any_more_is_declared_no_more(tmp_path: Path) -> None:
    """A deleted file, a link whose target is gone, and everything when the directory comes back empty."""
    root, target = tmp_path / "root", tmp_path / "target.yaml"
    root.mkdir()
    for file in (root / "deleted.yaml", root / "stays.yaml", target):
        file.write_text(cluster(file.stem))
    (root / "link.yaml").symlink_to(target)
    async with running(root) as sink:
        await sink.shows({"deleted.yaml": ["deleted"], "link.yaml": ["target"], "stays.yaml": ["stays"]})
        (root / "deleted.yaml").unlink()
        target.unlink()
        await sink.shows({"stays.yaml": ["stays"]})
        root.rename(tmp_path / "away")
        await sink.until(lambda: sink.is_failed)
        assert sink.names() == {"stays.yaml": ["stays"]}
        root.mkdir()
        await sink.shows({})


async def test_without_notifications_it_looks_from_time_to_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr("xds_server.sources.files.watch.awatch", refuse)
    with structlog.testing.capture_logs() as logs:
        async with running(tmp_path) as sink:
            (tmp_path / "a.yaml").write_text(cluster("a"))
            await sink.shows({"a.yaml": ["a"]})
            put(tmp_path / "a.yaml", cluster("b"))
            await sink.shows({"a.yaml": ["b"]})
    assert [entry["error"] for entry in logs] == ["OS file watch limit reached"]


async def test_files_behind_links_out_of_the_directory(tmp_path: Path) -> None:
    root = tmp_path / "config"
    root.mkdir()
    (tmp_path / "real.yaml").write_text(cluster("a"))
    (root / "a.yaml").symlink_to(tmp_path / "real.yaml")
    async with running(root) as sink:
        (tmp_path / "real.yaml").write_text(cluster("b"))
        await sink.shows({"a.yaml": ["b"]})


async def test_binary_garbage_and_a_pipe_take_nobody_down(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(cluster("good"))
    (tmp_path / "garbage.yaml").write_bytes(bytes(range(256)) * 100)
    os.mkfifo(tmp_path / "pipe.yaml")
    async with running(tmp_path) as sink:
        await sink.until(lambda: len(sink.units) == 3)
        reasons = {key: [each.reason for each in unit.problems] for key, unit in sink.units.items()}
        assert reasons == {"garbage.yaml": ["NotText"], "good.yaml": [], "pipe.yaml": ["Unreadable"]}
        assert sink.names()["good.yaml"] == ["good"]


async def test_a_first_file_that_never_rests_holds_up_readiness_for_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xds_server.sources.files.source._PATIENCE", 1.0)
    (tmp_path / "good.yaml").write_text(cluster("good"))
    os.utime(tmp_path / "good.yaml", (1, 1))

    async def write() -> None:
        for number in range(200):
            (tmp_path / "busy.yaml").write_text(cluster(f"busy{number}"))
            await asyncio.sleep(0.02)

    task = asyncio.create_task(write())
    await asyncio.sleep(0)
    async with running(tmp_path, settle=0.5) as sink:
        assert sink.is_synced
        assert not task.done()
        assert sink.names() == {"good.yaml": ["good"]}
        await task
        await sink.shows({"good.yaml": ["good"], "busy.yaml": ["busy199"]})


class TestK49:
    """K49: a mounted ConfigMap, re-creation, slow writers, broken YAML, renames."""

    @staticmethod
    def swap(root: Path, number: int, **files: str) -> None:
        """Put files in place as the kubelet does."""
        fresh = root / f"..{number}"
        fresh.mkdir()
        for name, text in files.items():
            (fresh / f"{name}.yaml").write_text(text)
            if not number:
                os.utime(fresh / f"{name}.yaml", (1, 1))  # what is old at the start is read at once
        link = root / "..data_tmp"
        link.symlink_to(fresh.name)
        link.replace(root / "..data")
        for name in files:
            entry = root / f"{name}.yaml"
            if not entry.is_symlink():
                entry.symlink_to(f"..data/{name}.yaml")
        if number:
            shutil.rmtree(root / f"..{number - 1}")

    async def test_twenty_swaps_make_twenty_versions(self, tmp_path: Path) -> None:
        self.swap(tmp_path, 0, a=cluster("a0"), b=cluster("b0"))
        async with running(tmp_path, settle=LIMIT) as sink:
            await sink.shows({"a.yaml": ["a0"], "b.yaml": ["b0"]})
            for number in range(1, 21):
                self.swap(tmp_path, number, a=cluster(f"a{number}"), b=cluster(f"b{number}"))
                await sink.shows({"a.yaml": [f"a{number}"], "b.yaml": [f"b{number}"]})
            assert sink.calls == [(("a.yaml", "b.yaml"), ())] * 21

    async def test_deleted_and_created_again(self, tmp_path: Path) -> None:
        file = tmp_path / "a.yaml"
        file.write_text(cluster("a"))
        async with running(tmp_path, settle=SETTLED) as sink:
            for number in range(5):
                file.unlink()
                await asyncio.sleep(0.05)
                file.write_text(cluster(f"a{number}"))
                await sink.shows({"a.yaml": [f"a{number}"]})
            # The gap was shorter than the time to settle, so nobody saw the resource vanish.
            assert all(not removed for _, removed in sink.calls)

    @pytest.mark.parametrize("is_new", [False, True])
    async def test_a_slow_writer_makes_one_version(self, tmp_path: Path, is_new: bool) -> None:  # noqa: FBT001
        file = tmp_path / "a.yaml"
        if not is_new:
            file.write_text(cluster("old"))
        async with running(tmp_path, settle=SETTLED) as sink:
            before = len(sink.calls)
            text = "---\n".join(cluster(f"a{number}") for number in range(9))
            third = len(text) // 3
            with file.open("w") as stream:
                for part in (text[:third], text[third : 2 * third], text[2 * third :]):
                    stream.write(part)
                    stream.flush()
                    await asyncio.sleep(0.3)
            await sink.shows({"a.yaml": [f"a{number}" for number in range(9)]})
            assert sink.calls[before:] == [(("a.yaml",), ())]

    async def test_a_slow_writer_that_deletes_first(self, tmp_path: Path) -> None:
        file = tmp_path / "a.yaml"
        file.write_text(cluster("old"))
        async with running(tmp_path, settle=SETTLED) as sink:
            text = cluster("a") + "---\n" + cluster("b")
            file.unlink()
            with file.open("w") as stream:
                for part in (text[:70], text[70:90], text[90:]):
                    stream.write(part)
                    stream.flush()
                    await asyncio.sleep(0.3)
            await sink.shows({"a.yaml": ["a", "b"]})
            assert sink.calls[1:] == [(("a.yaml",), ())]

    async def test_twenty_renames_over_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "a.yaml"
        file.write_text(cluster("a"))
        os.utime(file, (1, 1))
        # Nothing settles here in time: every change is taken up since it surely is whole.
        async with running(tmp_path, settle=2 * LIMIT) as sink:
            for number in range(20):
                put(file, cluster(f"a{number}"))
                await sink.shows({"a.yaml": [f"a{number}"]})
            assert len(sink.calls) == 21

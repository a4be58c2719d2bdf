"""The files of a group: what is stored comes back, and of damaged files nothing that is not whole."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from structlog.testing import capture_logs

from tests.unit.snapshot.history.world import STEPS, made, restore, seen, store, without_secrets
from xds_server.snapshot.history import records
from xds_server.snapshot.history.last_good import restore_group
from xds_server.snapshot.history.segments import Bounds, GroupFiles
from xds_server.snapshot.history.store import Store
from xds_server.snapshot.history.vault import Vault
from xds_server.snapshot.snapshot import Hold, Snapshot
from xds_server.sources.files.parse import unsupported
from xds_server.wire.types import CLUSTER, SECRET

A = (CLUSTER, "a")
KEY = bytes(range(32))


def steps(count: int) -> list[dict[tuple[str, str], str | None]]:
    return [{A: f"content {number}", (CLUSTER, f"n{number % 7}"): str(number)} for number in range(count)]


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=8), st.integers(1, 8))
def test_what_is_stored_comes_back(history: list[dict[tuple[str, str], str | None]], restart: int) -> None:
    snapshots = made(history)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "g")
        store(folder, snapshots[:restart])
        GroupFiles(folder, Bounds(), Vault(lambda each: each.type_url == SECRET), restore(folder).segments).add(
            snapshots[restart:], 100.0
        )
        found = restore(folder)
    assert [seen(each) for each in found.snapshots] == [without_secrets(each) for each in snapshots]
    assert not found.faults


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=8), st.data())
def test_whatever_happens_to_the_files_what_comes_back_was_stored_or_it_is_told(
    history: list[dict[tuple[str, str], str | None]], data: st.DataObject
) -> None:
    snapshots = made(history)
    stored = {each.seq: without_secrets(each) for each in snapshots}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "g")
        store(folder, snapshots)
        path = data.draw(st.sampled_from(sorted(folder.glob("*.snapshots"))))
        raw = bytearray(path.read_bytes())
        position = data.draw(st.integers(0, len(raw) - 1))
        if is_cut := data.draw(st.booleans(), "truncate"):
            del raw[position:]
        else:
            raw[position] ^= data.draw(st.integers(1, 255))
        path.write_bytes(raw)
        found = restore(folder)
        again = restore(folder)
    for each in found.snapshots:
        assert seen(each) == stored[each.seq]
    seqs = [each.seq for each in found.snapshots]
    # A file that is cut between two records is whole: it is what a process leaves that was killed between them.
    is_shorter = is_cut and seqs == list(stored)[: len(seqs)]
    assert seqs == list(stored) or found.faults or is_shorter
    assert [each.seq for each in again.snapshots] == [each.seq for each in found.snapshots]
    assert not again.faults, "what was repaired is whole"


def test_of_a_damaged_base_the_file_before_it_is_used(tmp_path: Path) -> None:
    snapshots = made(steps(4))
    store(tmp_path, snapshots)
    newest = max(tmp_path.glob("*.snapshots"))
    raw = bytearray(newest.read_bytes())
    raw[40] ^= 1
    newest.write_bytes(raw)
    found = restore(tmp_path)
    assert [each.seq for each in found.snapshots] == [1]
    (fault,) = found.faults
    assert ".corrupt-" in fault.set_aside
    assert Path(fault.set_aside).read_bytes() == raw, "kept for people to look at"
    assert not newest.exists()


def test_of_damaged_files_the_newest_three_are_kept(tmp_path: Path) -> None:
    for number in range(5):
        path = tmp_path / f"{number:020}.snapshots"
        path.write_bytes(b"garbage")
        assert restore(tmp_path).faults
        (aside,) = tmp_path.glob(f"{path.name}.corrupt-*")
        aside.rename(aside.with_name(f"{path.name}.corrupt-2026010{number}T000000Z"))
    restore(tmp_path)
    kept = [path.name.partition(".")[0] for path in tmp_path.glob("*.corrupt-*")]
    assert sorted(int(each) for each in kept) == [2, 3, 4]


def test_what_is_whole_before_a_fault_is_kept(tmp_path: Path) -> None:
    store(tmp_path, made(steps(6)))
    newest = max(tmp_path.glob("*.snapshots"))
    raw = bytearray(newest.read_bytes())
    raw[-3] ^= 1
    newest.write_bytes(raw)
    found = restore(tmp_path)
    assert [each.seq for each in found.snapshots] == [1, 2, 3, 4, 5]
    assert found.faults[0].set_aside


def test_a_torn_tail_is_cut_off(tmp_path: Path) -> None:
    store(tmp_path, made(steps(6)))
    newest = max(tmp_path.glob("*.snapshots"))
    whole = newest.read_bytes()
    newest.write_bytes(whole[:-5])
    found = restore(tmp_path)
    assert [each.seq for each in found.snapshots] == [1, 2, 3, 4, 5]
    assert found.faults[0].set_aside == ""
    assert len(newest.read_bytes()) < len(whole) - 5


def test_a_large_snapshot_is_many_records_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_RESOURCES_PER_RECORD", 10)
    snapshots = made([{(CLUSTER, f"n{number}"): "1" for number in range(95)}, {(CLUSTER, "n3"): "2"}])
    store(tmp_path, snapshots)
    assert [seen(each) for each in restore(tmp_path).snapshots] == [seen(each) for each in snapshots]
    oldest = min(tmp_path.glob("*.snapshots"))
    raw = oldest.read_bytes()
    oldest.write_bytes(raw[: len(raw) // 2])
    assert [each.seq for each in restore(tmp_path).snapshots] == [2]


def test_contents_of_equal_version_are_shared_and_lines_are_kept(tmp_path: Path) -> None:
    store(tmp_path, made(steps(6)))
    found = restore(tmp_path).snapshots
    assert found[1].types[CLUSTER].resources["n0"] is found[5].types[CLUSTER].resources["n0"]
    assert found[5].types[CLUSTER]._log is found[0].types[CLUSTER]._log


def test_differences_cost_what_changed(tmp_path: Path) -> None:
    many = {(CLUSTER, f"n{number}"): "x" * 200 for number in range(1000)}
    first, second, third, fourth = made([many, {A: "1"}, {A: "2"}, {A: "3"}])
    files = GroupFiles(tmp_path, Bounds(), Vault(lambda _: False))
    base = files.add([first], 0.0)
    files.add([second], 0.0)
    assert base > 200_000
    assert files.add([third], 0.0) < 500
    assert files.add([fourth], 0.0) < 500


def test_a_segment_ends_when_its_differences_outweigh_its_base(tmp_path: Path) -> None:
    snapshots = made([{A: str(number) * 2000} for number in range(200)])
    store(tmp_path, snapshots, bounds=Bounds(count=1000))
    sizes = [path.stat().st_size for path in tmp_path.glob("*.snapshots")]
    assert len(sizes) > 4
    assert max(sizes) < 100_000
    assert len(restore(tmp_path, bounds=Bounds(count=1000)).snapshots) == 200


def test_count_bounds_what_is_kept(tmp_path: Path) -> None:
    bounds = Bounds(count=30)
    snapshots = made([{A: str(number) * 2000} for number in range(200)])
    store(tmp_path, snapshots, bounds=bounds)
    assert sum(path.stat().st_size for path in tmp_path.glob("*.snapshots")) < 300_000
    assert [each.seq for each in restore(tmp_path, bounds=bounds).snapshots] == list(range(171, 201))


def test_age_bounds_what_is_kept_but_never_takes_the_newest(tmp_path: Path) -> None:
    bounds = Bounds(age=10)
    snapshots = made(steps(4))
    store(tmp_path, snapshots, bounds=bounds)
    assert [each.seq for each in restore_at(tmp_path, bounds, 112.5)] == [3, 4]
    assert [each.seq for each in restore_at(tmp_path, bounds, 5000.0)] == [4]


def restore_at(folder: Path, bounds: Bounds, now: float) -> list[Snapshot]:
    return restore_group(folder, bounds, Vault(lambda _: False), now).snapshots


def test_secrets_are_left_out_and_what_is_known_of_them_comes_back(tmp_path: Path) -> None:
    store(tmp_path, made([{(SECRET, "cert"): "planted-key", A: "1"}]))
    assert all(b"planted-key" not in path.read_bytes() for path in tmp_path.iterdir())
    (found,) = restore(tmp_path).snapshots
    assert found.types[SECRET].unknown == {"cert"}
    assert found.types[SECRET].resources["cert"].origins[0].path == "a/b.yaml"
    assert not found.types[CLUSTER].unknown


def test_with_a_key_secrets_come_back_and_are_not_to_be_read(tmp_path: Path) -> None:
    vault = Vault(lambda each: each.type_url == SECRET, KEY)
    (snapshot,) = made([{(SECRET, "cert"): "planted-key"}])
    store(tmp_path, [snapshot], vault)
    assert all(b"planted-key" not in path.read_bytes() for path in tmp_path.iterdir())
    (found,) = restore(tmp_path, vault).snapshots
    assert seen(found) == seen(snapshot)


def test_with_another_key_what_was_stored_is_as_if_it_had_been_left_out(tmp_path: Path) -> None:
    (snapshot,) = made([{(SECRET, "cert"): "planted-key"}])
    store(tmp_path, [snapshot], Vault(lambda each: each.type_url == SECRET, KEY))
    (locked,) = restore(tmp_path, Vault(lambda _: True, KEY[::-1])).snapshots
    assert locked.types[SECRET].unknown == {"cert"}
    assert locked.version == snapshot.version


@pytest.mark.parametrize(("key", "lines"), [(KEY, 0), (KEY[::-1], 1), (None, 1)])
def test_a_key_that_does_not_fit_is_logged_once_at_the_start(tmp_path: Path, key: bytes | None, lines: int) -> None:
    secrets: dict[tuple[str, str], str | None] = {(SECRET, "a"): "planted-key", (SECRET, "b"): "planted-key"}
    store(tmp_path / "groups" / "g", made([secrets, {A: "1"}]), Vault(lambda each: each.type_url == SECRET, key=KEY))
    with capture_logs() as logs:
        Store(tmp_path, Bounds(), Vault(lambda each: each.type_url == SECRET, key), lambda: 0.0, unsupported).close()
    told = [each["resources"] for each in logs if each["event"] == "stored_secrets_not_opened"]
    assert told == [2] * lines


def test_after_an_error_a_fresh_segment_begins(tmp_path: Path) -> None:
    snapshots = made(steps(6))
    files = store(tmp_path, snapshots[:4])
    newest = max(tmp_path.glob("*.snapshots"))
    broken = newest.rename(newest.with_name("away"))
    newest.mkdir()
    with pytest.raises(OSError, match="directory"):
        files.add(snapshots[4:5], 0.0)
    newest.rmdir()
    broken.rename(newest)
    files.add(snapshots[4:], 0.0)
    assert [each.seq for each in restore(tmp_path).snapshots] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("bounds", [Bounds(count=3), Bounds(age=5.0)])
def test_the_held_version_stays_on_disk_until_the_release(tmp_path: Path, bounds: Bounds) -> None:
    contents: list[dict[tuple[str, str], str | None]] = [{A: f"{number}" * 40_000} for number in range(10, 40)]
    snapshots = [replace(each, held=None) for each in made(contents)]
    hold = Hold(snapshots[3].version, 4, "op", "slow", 5.0)
    held = [replace(each, held=hold) if each.seq > 5 else each for each in snapshots]
    vault = Vault(lambda each: each.type_url == SECRET)
    files = store(tmp_path, held, bounds=bounds)
    found = restore_group(tmp_path, bounds, vault, held[-1].created)
    assert seen(found.snapshots[0]) == without_secrets(held[3])
    assert found.snapshots[1].seq > 20
    released = replace(held[-1], seq=31, held=None)
    files.add([released], released.created)
    again = restore_group(tmp_path, bounds, vault, released.created)
    assert again.snapshots[0].seq > 20
    assert not [path for path in tmp_path.iterdir() if int(path.stem) < 20]


def test_a_later_process_keeps_the_held_version_too(tmp_path: Path) -> None:
    contents: list[dict[tuple[str, str], str | None]] = [{A: f"{number}" * 40_000} for number in range(10, 40)]
    hold = Hold("v", 4, "op", "slow", 5.0)
    held = [replace(each, held=hold if each.seq > 4 else None) for each in made(contents)]
    bounds, vault = Bounds(count=3), Vault(lambda each: each.type_url == SECRET)
    for snapshot in held:
        segments = restore_group(tmp_path, bounds, vault, snapshot.created).segments
        GroupFiles(tmp_path, bounds, vault, segments).add([snapshot], snapshot.created)
    found = restore_group(tmp_path, bounds, vault, held[-1].created)
    assert [each.seq for each in found.snapshots] == [4, 28, 29, 30]

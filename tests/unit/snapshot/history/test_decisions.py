"""Verdicts and decisions on disk: they come back as they were, and damage is set aside and told."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from xds_server.ir.backend import BackendKey
from xds_server.ir.decision import Choice, Decision
from xds_server.ir.facts import Conclusion, RouteKey, Verdict
from xds_server.snapshot.history import decisions as module
from xds_server.snapshot.history.decisions import DecisionFile, Kept
from xds_server.snapshot.history.segments import write_whole

ROUTE = RouteKey("shop", "edge", "orders")
KEPT = Kept(
    Conclusion(Verdict.OVER, 1.5, was_over=True),
    Decision(Choice.DEGRADED, BackendKey("shop", "orders-lite", 80), "over-threshold"),
    2.5,
)

texts = st.text(max_size=20)
choices = st.builds(
    Decision, st.sampled_from(Choice), st.none() | st.builds(BackendKey, texts, texts, st.integers(0, 65535)), texts
)
conclusions = st.builds(Conclusion, st.sampled_from(Verdict), st.floats(0, 1e10), st.booleans())
kept = st.builds(Kept, st.none() | conclusions, st.none() | choices, st.floats(0, 1e10), st.none() | choices)


def opened(path: Path) -> DecisionFile:
    return DecisionFile(path, lambda error: pytest.fail(str(error)))


async def written(file: DecisionFile, routes: dict[RouteKey, Kept | None]) -> None:
    task = asyncio.create_task(file.writer.run())
    for route, each in routes.items():
        file.keep(route, each)
    await file.writer.close()
    await task


@settings(deadline=None, max_examples=30)  # each waits for the disk
@given(st.dictionaries(st.builds(RouteKey, texts, texts, texts), kept, max_size=5))
def test_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, routes: dict[RouteKey, Kept]) -> None:
    path = tmp_path_factory.mktemp("state") / "gateways" / "decisions.json"

    async def write() -> None:
        await written(opened(path), {**routes})

    asyncio.run(write())
    assert opened(path).restored == routes


async def test_what_is_gone_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "decisions.json"
    await written(opened(path), {ROUTE: KEPT, ROUTE._replace(route="other"): KEPT})
    await written(opened(path), {ROUTE: None})
    assert opened(path).restored == {ROUTE._replace(route="other"): KEPT}


async def test_what_has_not_changed_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "decisions.json"
    await written(opened(path), {ROUTE: KEPT})
    monkeypatch.setattr(module, "write_whole", lambda *_: pytest.fail("written"))
    await written(opened(path), {ROUTE: KEPT})


async def test_five_thousand_at_once_are_all_stored(tmp_path: Path) -> None:
    path = tmp_path / "decisions.json"
    await written(opened(path), {ROUTE._replace(route=str(number)): KEPT for number in range(5000)})
    assert len(opened(path).restored) == 5000


@pytest.mark.parametrize("damage", [b"", b"{", b'{"form":1,"routes":[7]}', b'{"form":2,"routes":[]}', b"\xff\x00"])
def test_damage_is_set_aside_and_told(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "decisions.json"
    path.write_bytes(damage)
    file = opened(path)
    assert file.restored == {}
    (fault,) = file.faults
    assert "verdicts and decisions begin anew" in fault.message
    assert Path(fault.set_aside).read_bytes() == damage
    assert not path.exists()
    assert opened(path).faults == []


async def test_a_cut_file_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "decisions.json"
    await written(opened(path), {ROUTE: KEPT})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert len(opened(path).faults) == 1


async def test_a_full_disk_is_told_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[OSError] = []
    file = DecisionFile(tmp_path / "decisions.json", told.append)
    write = write_whole

    def full(_path: Path, _data: bytes) -> None:
        monkeypatch.setattr(module, "write_whole", write)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "write_whole", full)
    task = asyncio.create_task(file.writer.run())
    file.keep(ROUTE, KEPT)
    await asyncio.wait_for(file.writer.flushed(), 30)
    await file.writer.close()
    await task
    assert [error.errno for error in told] == [errno.ENOSPC]
    assert opened(tmp_path / "decisions.json").restored == {ROUTE: KEPT}

"""The audit log: bounded, on disk, one numbering with the events."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from xds_server.ir.events import EventKind
from xds_server.status import audit_file
from xds_server.status.audit import Audit
from xds_server.status.audit_entry import KEPT, Action, Entry
from xds_server.status.audit_file import Journal
from xds_server.status.events import EventBus

VERSION = {"group": "g", "version": "v1", "seq": 1, "origin": {"source": "files", "change": "a.yaml"}}

DEGRADATION = {
    "route": "shop/edge/orders",
    "reason": "over-threshold",
    "before": None,
    "after": {"decision": "degraded"},
    "version": "v1",
}


def fail(error: OSError) -> None:
    raise error


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def written(folder: Path, *actions: Action) -> Audit:
    """A process that records these and ends."""
    journal = Journal(folder, fail)
    bus = EventBus(lambda: 1.0, journal.last_id)
    audit = Audit(bus, lambda: 1.0, journal)
    running = asyncio.create_task(journal.writer.run())
    for action in actions:
        if action is Action.VERSION:
            audit.emit(EventKind.VERSION, VERSION)
        elif action is Action.DEGRADATION:
            audit.emit(EventKind.DEGRADATION, DEGRADATION)
        else:
            audit.record(action, "g", actor="op", reason="why", before={"a": 1})
    await journal.writer.close()
    await running
    return audit


def test_a_version_has_the_number_of_its_event_and_other_events_have_no_entry() -> None:
    bus = EventBus(lambda: 1.0)
    audit = Audit(bus, lambda: 1.0)
    audit.emit(EventKind.ACK, {"node": "n"})
    audit.emit(EventKind.VERSION, VERSION)
    audit.emit(EventKind.VERSION, {**VERSION, "version": "v2"})
    entries, _ = audit.page(None, 10)
    assert entries[1] == Entry(2, 1.0, "files", Action.VERSION, "g", "a.yaml", None, "v1", "v1")
    assert (entries[0].before, entries[0].after) == ("v1", "v2")
    assert [event.id for event in bus.recent()] == [1, 2, 3]


def test_versions_do_not_drive_out_what_people_did() -> None:
    audit = Audit(EventBus(lambda: 1.0), lambda: 1.0)
    audit.record(Action.ROLLBACK, "g", actor="op")
    for _ in range(KEPT + 5):
        audit.emit(EventKind.VERSION, VERSION)
    entries, more = audit.page(None, KEPT + 100)
    assert len(entries) == KEPT + 1
    assert entries[-1].action is Action.ROLLBACK
    assert more is None


def test_degradations_do_not_drive_out_what_people_did() -> None:
    audit = Audit(EventBus(lambda: 1.0), lambda: 1.0)
    audit.record(Action.ROLLBACK, "g", actor="op")
    for _ in range(KEPT + 5):
        audit.emit(EventKind.DEGRADATION, DEGRADATION)
    entries, more = audit.page(None, KEPT + 100)
    assert len(entries) == KEPT + 1
    assert entries[-1].action is Action.ROLLBACK
    assert more is None


def test_writes_to_a_cluster_do_not_drive_out_what_people_did() -> None:
    audit = Audit(EventBus(lambda: 1.0), lambda: 1.0)
    audit.record(Action.ROLLBACK, "g", actor="op")
    for _ in range(KEPT + 5):
        audit.record(Action.WRITE, "status shop/edge", actor="replica-0")
    entries, more = audit.page(None, KEPT + 100)
    assert len(entries) == KEPT + 1
    assert entries[-1].action is Action.ROLLBACK
    assert more is None


async def test_a_degradation_outlives_the_process(tmp_path: Path) -> None:
    await written(tmp_path, Action.ROLLBACK, Action.DEGRADATION)
    (entry, _), _ = (await written(tmp_path)).page(None, 10)
    after = {"decision": "degraded"}
    assert entry == Entry(
        2, 1.0, "tidegate", Action.DEGRADATION, "shop/edge/orders", "over-threshold", None, after, "v1"
    )
    assert names(tmp_path) == ["actions.jsonl", "degradations.jsonl"]


async def test_what_is_recorded_outlives_the_process_and_numbers_go_on(tmp_path: Path) -> None:
    await written(tmp_path, Action.VERSION, Action.ROLLBACK)
    audit = await written(tmp_path, Action.VERSION, Action.RELEASE)
    entries, _ = audit.page(None, 10)
    assert [(each.id, each.action) for each in entries] == [
        (4, Action.RELEASE),
        (3, Action.VERSION),
        (2, Action.ROLLBACK),
        (1, Action.VERSION),
    ]
    assert entries[1].before == "v1", "what was served before the start"
    assert entries[2].before == {"a": 1}


async def test_a_line_that_a_kill_cut_off_costs_that_line_only(tmp_path: Path) -> None:
    await written(tmp_path, Action.ROLLBACK, Action.RELEASE)
    file = tmp_path / "actions.jsonl"
    file.write_bytes(file.read_bytes()[:-10])
    audit = await written(tmp_path, Action.ROLLBACK)
    restored = Journal(tmp_path, fail).restored
    assert [each.action for each in restored] == [Action.ROLLBACK, Action.ROLLBACK]
    assert len(audit.page(None, 10)[0]) == 2


async def test_the_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_file, "KEPT", 20)
    for _ in range(12):
        await written(tmp_path, *[Action.VERSION] * 5)
    assert names(tmp_path) == ["versions.1.jsonl", "versions.jsonl"]
    restored = Journal(tmp_path, fail).restored
    assert 10 <= len(restored) <= 20
    assert restored[-1].id == 60

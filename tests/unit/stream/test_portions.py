"""Answers larger than clients with default limits receive go out in portions, one ACK apart, and arrive whole."""

from __future__ import annotations

import pytest

from tests.unit.stream.test_shared_steps import BOTH, ack, first, resources, snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.stream import portions
from xds_server.stream.session import Session, Variant
from xds_server.wire.request import DeltaRequest
from xds_server.wire.types import CLUSTER, ENDPOINT


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """So small that tests need no megabytes."""
    monkeypatch.setattr(portions, "PORTION", 1000)


def all_of(session: Session, variant: Variant, url: str, *names: str) -> list[dict[str, str | None]]:
    """The changes of each response until nothing more comes; one at a time."""
    due = session.receive(first(variant, url, *names), 0.0)
    got: list[dict[str, str | None]] = []
    while due:
        (sent,) = due
        assert len(sent.message) < 2000
        got.append(dict(sent.changes))
        due = session.receive(ack(variant, url, sent.nonce, *names), 0.0)
    return got


@BOTH
def test_endpoints_come_in_portions(variant: Variant) -> None:
    assignments = Typeset(ENDPOINT, resources(ENDPOINT, 100))
    session = Session(variant)
    session.publish(snapshot(1, assignments), 0.0)
    got = all_of(session, variant, ENDPOINT, *assignments.resources)
    assert len(got) > 5
    names = [name for part in got for name in part]
    assert sorted(names) == sorted(assignments.resources), "each once"
    assert session.in_sync()


def test_clusters_come_in_portions_in_delta_and_whole_in_sotw() -> None:
    clusters = Typeset(CLUSTER, resources(CLUSTER, 100))
    delta, sotw = Session(Variant.DELTA), Session(Variant.SOTW)
    for session in (delta, sotw):
        session.publish(snapshot(1, clusters), 0.0)
    assert len(all_of(delta, Variant.DELTA, CLUSTER)) > 5
    assert delta.in_sync()
    assert len(sotw.receive(first(Variant.SOTW, CLUSTER), 0.0)[0].changes) == 100, "absence would mean deletion"


@BOTH
def test_a_change_between_two_portions_is_in_one_of_the_next(variant: Variant) -> None:
    before = Typeset(ENDPOINT, resources(ENDPOINT, 50))
    names = list(before.resources)
    session = Session(variant)
    session.publish(snapshot(1, before), 0.0)
    (sent,) = session.receive(first(variant, ENDPOINT, *names), 0.0)
    after = before.evolve(resources(ENDPOINT, 50, "x"))
    assert session.publish(snapshot(2, after), 0.0) == []
    seen: dict[str, str | None] = {}
    due = session.receive(ack(variant, ENDPOINT, sent.nonce, *names), 0.0)
    while due:
        seen.update(due[0].changes)
        due = session.receive(ack(variant, ENDPOINT, due[0].nonce, *names), 0.0)
    assert seen == {name: after.version_of(name) for name in names}
    assert session.in_sync()


@BOTH
def test_a_resource_larger_than_a_portion_goes_alone(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions, "PORTION", 10)
    session = Session(variant)
    session.publish(snapshot(1, Typeset(ENDPOINT, resources(ENDPOINT, 3))), 0.0)
    assert [len(part) for part in all_of(session, variant, ENDPOINT, "r0", "r1", "r2")] == [1, 1, 1]


def test_what_is_new_comes_before_a_long_list_of_what_is_gone() -> None:
    clusters = Typeset(CLUSTER, resources(CLUSTER, 20))
    session = Session(Variant.DELTA)
    session.publish(snapshot(1, clusters), 0.0)
    held = {f"gone-{number}": "1" for number in range(300)}
    due = session.receive(DeltaRequest(CLUSTER, initial_versions=held), 0.0) or session.tick(1.0)
    told: list[list[str | None]] = []
    while due:
        told.append(list(due[0].changes.values()))
        due = session.receive(ack(Variant.DELTA, CLUSTER, due[0].nonce), 1.0)
    assert len(told) > 1
    assert all(all(part) for part in told[:-1]), "what is gone comes with the last portion"
    assert told[-1].count(None) == len(held)

"""What streams share: one response for all who stand alike, and bounded memory for those who do not."""

from __future__ import annotations

from typing import Any

import pytest

from xds_server.snapshot import typeset as typesets
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.stream.session import Session, Variant
from xds_server.wire import response
from xds_server.wire.request import DeltaRequest, Request, SotwRequest
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT

BOTH = pytest.mark.parametrize("variant", list(Variant))


def resources(url: str, count: int, content: str = "") -> dict[str, Resource]:
    """So many resources of a type."""
    return {f"r{number}": Resource(f"r{number}", url, f"{number}{content}".encode() * 50) for number in range(count)}


def snapshot(seq: int, *sets: Typeset) -> Snapshot:
    """A snapshot of these typesets."""
    return Snapshot("g", seq, 0.0, {each.type_url: each for each in sets})


def first(variant: Variant, url: str, *names: str) -> Request:
    """The first request of a stream."""
    if variant is Variant.SOTW:
        return SotwRequest(url, names=frozenset(names))
    return DeltaRequest(url, subscribe=frozenset(names))


def ack(variant: Variant, url: str, nonce: str, *names: str) -> Request:
    """An ACK."""
    if variant is Variant.SOTW:
        return SotwRequest(url, names=frozenset(names), nonce=nonce)
    return DeltaRequest(url, nonce=nonce)


def counted(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[Any]:
    """The first arguments of all calls of a function from now on."""
    seen: list[Any] = []
    original = getattr(owner, name)

    def call(first_argument: Any, *more: Any) -> Any:
        seen.append(first_argument)
        return original(first_argument, *more)

    monkeypatch.setattr(owner, name, call)
    return seen


@BOTH
def test_streams_that_come_and_go_share_one_answer(variant: Variant) -> None:
    clusters = Typeset(CLUSTER, resources(CLUSTER, 100))
    messages: set[bytes] = set()
    for _ in range(50):
        session = Session(variant)
        session.publish(snapshot(1, clusters), 0.0)
        messages.update(each.message for each in session.receive(first(variant, CLUSTER), 0.0))
    assert len(messages) == 1
    assert len(clusters._shared) == 2, "the difference, and the answer"


@BOTH
def test_streams_that_all_ask_for_something_else_fill_a_bounded_room(
    variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typesets, "_SHARED_BYTES", 20_000)
    assignments = Typeset(ENDPOINT, resources(ENDPOINT, 100))
    for number in range(100):
        session = Session(variant)
        session.publish(snapshot(1, assignments), 0.0)
        assert session.receive(first(variant, ENDPOINT, f"r{number}"), 0.0)
    assert assignments._shared.currsize <= 20_000


@BOTH
@pytest.mark.parametrize("size", [10, 1000])
@pytest.mark.parametrize("streams", [1, 40])
def test_one_endpoint_costs_one_resource_and_one_response(
    variant: Variant, size: int, streams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard against O(everything): work per change, whatever the number of streams and resources."""
    names = [f"r{number}" for number in range(size)]
    before = Typeset(ENDPOINT, resources(ENDPOINT, size))
    sessions = [Session(variant) for _ in range(streams)]
    for session in sessions:
        session.publish(snapshot(1, before), 0.0)
        sent = session.receive(first(variant, ENDPOINT, *names), 0.0)
        session.receive(ack(variant, ENDPOINT, sent[0].nonce, *names), 0.0)
        assert session.in_sync()

    built = counted(monkeypatch, response, variant.value)
    encoded = counted(monkeypatch, Resource, "_any")
    after = before.evolve({"r3": Resource("r3", ENDPOINT, b"moved")})
    sent = [each for session in sessions for each in session.publish(snapshot(2, after), 1.0)]
    for session, each in zip(sessions, sent, strict=True):
        session.receive(ack(variant, ENDPOINT, each.nonce, *names), 1.0)
        assert session.in_sync()
    assert len(built) == 1
    assert [resource.name for resource in encoded] == ["r3"]
    assert len({each.message for each in sent}) == 1
    assert len(sent[0].message) < 300


def test_delta_answers_to_a_client_that_only_asks_are_bounded() -> None:
    session = Session(Variant.DELTA)
    assignments = Typeset(ENDPOINT, resources(ENDPOINT, 3))
    session.publish(snapshot(1, assignments), 0.0)
    sent = [each for _ in range(50) for each in session.receive(first(Variant.DELTA, ENDPOINT, "r1"), 0.0)]
    assert len(sent) == 8
    late = [more for each in sent for more in session.receive(ack(Variant.DELTA, ENDPOINT, each.nonce), 0.0)]
    assert [set(each.changes) for each in late] == [{"r1"}], "one answer for all that was asked meanwhile"
    assert session.receive(ack(Variant.DELTA, ENDPOINT, late[0].nonce), 0.0) == []
    assert session.in_sync()

"""The gate: what is asked, what is remembered, and what becomes of changes without a verdict."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from xds_server.demo.world import Document, assignment, cluster, listener, route as to, routes
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.origin import Origin
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.snapshot.preflight import Preflight, UnavailableError
from xds_server.snapshot.snapshot import Snapshot
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE

BAD = "bad-word"


class Checker:
    """In Envoy's place, for faults that Envoy can't be made to show: it refuses a word."""

    def __init__(self) -> None:
        self.asked = 0
        self.fails: str = ""
        self.is_closed = False

    def ask(self, bootstrap: bytes, timeout: float) -> str | None:
        self.asked += 1
        if self.fails or self.is_closed:
            raise UnavailableError(self.fails or "unavailable", "no verdict")
        assert timeout > 0
        return f"refused: {BAD}" if BAD.encode() in bootstrap else None

    def close(self) -> None:
        self.is_closed = True


class World:
    """An assembler behind a gate, and a clock."""

    def __init__(self) -> None:
        self.checker = Checker()
        self.now = 0.0
        self.outcomes: list[str] = []
        self.gate = Preflight(self.checker, 10.0, lambda outcome, _: self.outcomes.append(outcome), lambda: self.now)
        self.assembler = Assembler(decode, prune_routes, self.gate.refused)
        self.snapshot: Snapshot | None = None

    def declare(self, *bodies: Mapping[str, object], file: str = "a.yaml") -> Snapshot:
        """Have a file declare these, and give what is served then."""
        documents = tuple(
            NativeDocument("default", body, Origin("files", file, number, name=str(body.get("name", ""))))
            for number, body in enumerate(bodies, 1)
        )
        made = self.assembler.apply([Batch(0, "files", {file: Unit(file, documents)})], self.now)
        self.snapshot = made[0] if made else self.snapshot
        assert self.snapshot is not None
        return self.snapshot

    def left_out(self) -> dict[str, str]:
        assert self.snapshot is not None
        return {each.name: each.reason for each in self.snapshot.left_out}


@pytest.fixture
def world() -> World:
    return World()


def endpoints(name: str, port: int) -> Document:
    """The assignment of a cluster."""
    return assignment(name, [port])


def route(name: str, target: str) -> Document:
    """A route configuration that leads to a cluster."""
    return routes(name, [to(target)])


def spoilt(name: str = "main") -> Document:
    """One that is refused."""
    return {**route(name, "one"), "response_headers_to_remove": [BAD]}


GOOD = (cluster("one"), endpoints("one", 80), route("main", "one"))


def test_what_is_refused_keeps_its_last_good_content_and_the_rest_is_served(world: World) -> None:
    before = world.declare(*GOOD)
    after = world.declare(cluster("one"), endpoints("one", 80), cluster("two"), endpoints("two", 80), spoilt())
    assert world.left_out() == {"main": "RefusedByEnvoy"}
    assert after.typeset(ROUTE).version == before.typeset(ROUTE).version
    assert set(after.typeset(CLUSTER).resources) == {"one", "two"}
    assert after.left_out[0].message.startswith(f"Envoy refuses it: refused: {BAD}; its last good")
    assert after.left_out[0].origins[0].document == 5


def test_what_never_was_good_is_left_out_with_what_needs_it(world: World) -> None:
    snapshot = world.declare(cluster("one"), endpoints("one", 80), spoilt(), listener("edge", "main"))
    assert world.left_out() == {"main": "RefusedByEnvoy", "edge": "NoRoute"}
    assert len(snapshot.typeset(LISTENER)) == 0
    world.declare(*GOOD, listener("edge", "main"))
    assert world.left_out() == {}


def test_a_refusal_stands_while_others_change_and_goes_with_the_content(world: World) -> None:
    world.declare(*GOOD[:2], spoilt())
    world.declare(cluster("two"), endpoints("two", 80), file="b.yaml")
    assert world.left_out() == {"main": "RefusedByEnvoy"}
    world.declare(*GOOD[:2])
    assert world.left_out() == {}


def test_verdicts_are_remembered_by_content(world: World) -> None:
    world.declare(*GOOD)
    world.declare(*GOOD[:2], spoilt())
    asked = world.checker.asked
    for _ in range(3):
        world.declare(*GOOD)
        assert world.left_out() == {}
        world.declare(*GOOD[:2], spoilt())
        assert world.left_out() == {"main": "RefusedByEnvoy"}
    assert world.checker.asked == asked


def test_endpoints_of_a_known_assignment_are_not_asked_about(world: World) -> None:
    world.declare(*GOOD)
    asked = world.checker.asked
    after = world.declare(cluster("one"), endpoints("one", 81), route("main", "one"))
    assert world.checker.asked == asked
    assert b"\x51" in after.typeset(ENDPOINT).resources["one"].body


@pytest.mark.parametrize("outcome", ["timeout", "unavailable"])
def test_without_a_verdict_all_is_served_and_nobody_waits_again_at_once(world: World, outcome: str) -> None:
    world.declare(*GOOD)
    world.checker.fails = outcome
    world.declare(*GOOD[:2], spoilt())
    assert world.left_out() == {}
    asked = world.checker.asked
    world.declare(*GOOD[:2], spoilt(), route("more", "one"))
    assert world.checker.asked == asked
    assert world.outcomes == ["accepted", outcome, "skipped"]
    world.checker.fails = ""
    world.now += 31
    world.declare(*GOOD[:2], spoilt(), route("more", "one"), spoilt("third"))
    assert world.left_out() == {"third": "RefusedByEnvoy"}


def test_at_the_end_of_the_process_nothing_unchecked_goes_through(world: World) -> None:
    world.declare(*GOOD)
    world.gate.close()
    after = world.declare(*GOOD, route("more", "one"))
    assert set(after.typeset(ROUTE).resources) == {"main"}
    assert world.left_out() == {"more": "RefusedByEnvoy"}

"""The book of gateways: transitions are told once, and conditions have a time that moves with their status only."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.admin.documents import cluster
from tests.unit.admin.world import FakeNode, resource, typeset
from tests.unit.status.gateway_world import (
    DEGRADED,
    FAIL_OPEN,
    FALLBACK,
    HEALTHY,
    KEY,
    NOW,
    ORIGIN,
    PRIMARY,
    REJECTED,
    WATCH,
    known,
    report,
    route_key,
    unknown,
)
from xds_server.ir.backend import BackendKey
from xds_server.ir.decision import Choice, Decision
from xds_server.ir.events import EventKind
from xds_server.ir.facts import Conclusion, Reading, RouteKey, Verdict
from xds_server.ir.gateway import GatewayKey
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.history.decisions import Kept
from xds_server.snapshot.snapshot import Snapshot
from xds_server.status.audit import Audit
from xds_server.status.audit_entry import Action, Entry
from xds_server.status.events import EventBus
from xds_server.status.gateway_book import GatewayBook, ShownGateway
from xds_server.status.replicas import Replicas, Report
from xds_server.status.route_memory import RouteMemory
from xds_server.status.share import Share
from xds_server.status.tracker import Tracker
from xds_server.status.transitions import Transitions
from xds_server.wire.types import CLUSTER


class World:
    """A book with all that it needs; time moves by hand."""

    def __init__(self, restored: dict[str, Kept] | None = None, *, is_whole: bool = True) -> None:
        self.now = NOW
        self.readings = known(5)
        self.counted: list[tuple[str, str, str]] = []
        self.later: list[Callable[[], None]] = []
        self.stored: dict[str, Kept | None] = {}
        self.bus = EventBus(lambda: self.now)
        self.audit = Audit(self.bus, lambda: self.now)
        self.groups = Groups(lambda: self.now)
        self.groups.obtain("default").publish(Snapshot("default", 1, NOW))
        self.tracker = Tracker(self.groups, self.bus, lambda: self.now)
        before = {route_key(name): kept for name, kept in (restored or {}).items()}
        self.memory = RouteMemory(lambda: self.now, lambda route, kept: self.stored.update({route.route: kept}), before)
        transitions = Transitions(self.audit.emit, self, lambda _seconds, call: self.later.append(call))
        self.replicas = Replicas("ours")
        parts = (self.groups, self.tracker, self.memory, self.reading, transitions)
        self.book = GatewayBook(*parts, replicas=self.replicas, clock=self.clock)
        if is_whole:
            list(self.book.begin())

    def reading(self, route: RouteKey) -> Reading | None:
        return self.readings(route)

    def clock(self) -> float:
        return self.now

    def decided(self, namespace: str, gateway: str, decision: str) -> None:
        self.counted.append((namespace, gateway, decision))

    def look(self) -> int:
        return sum(1 for _ in self.book.look())

    def take(self, **decisions: Decision) -> None:
        list(self.book.take({KEY: report(decisions)}))

    def entries(self) -> list[Entry]:
        return [each for each in reversed(self.audit.page(None, 10_000)[0]) if each.action is Action.DEGRADATION]

    def shown(self) -> ShownGateway:
        found = self.book.get(KEY)
        assert found is not None
        return found


@pytest.fixture
def world() -> World:
    return World()


def test_every_transition_is_told_once(world: World) -> None:
    for decision in (HEALTHY, HEALTHY, DEGRADED, DEGRADED, FAIL_OPEN, REJECTED, HEALTHY):
        world.now += 10
        world.take(orders=decision)
    entries = world.entries()
    assert [each.reason for each in entries] == [
        "over-threshold",
        "no-healthy-backend",
        "no-healthy-backend",
        "healthy",
    ]
    assert {(each.actor, each.target) for each in entries} == {("tidegate", "shop/edge/orders")}
    assert entries[0].before == {"decision": "primary", "reason": "healthy", "backend": str(PRIMARY)}
    assert entries[0].after == {"decision": "degraded", "reason": "over-threshold", "backend": str(FALLBACK)}
    group = world.groups.get("default")
    assert group is not None
    assert group.current is not None
    assert entries[0].version == group.current.version
    assert world.counted == [("shop", "edge", word) for word in ("degraded", "fail_open", "rejected", "primary")]


def test_the_event_and_its_entry_have_one_number(world: World) -> None:
    world.take(orders=DEGRADED)
    (event,) = [each for each in world.bus.recent() if each.kind is EventKind.DEGRADATION]
    (entry,) = world.entries()
    assert event.id == entry.id
    assert event.data["route"] == "shop/edge/orders"
    assert event.data["decision"] == "degraded"
    assert (event.data["lag"], event.data["threshold"]) == (5, WATCH.rule.threshold)
    assert entry.before is None, "nothing was decided before"


def test_a_new_route_at_its_primary_is_no_transition(world: World) -> None:
    world.take(orders=HEALTHY, mail=HEALTHY)
    assert world.entries() == []


def test_another_primary_is_no_transition_but_moves_since(world: World) -> None:
    world.take(orders=HEALTHY)
    world.now += 60
    world.take(orders=Decision(Choice.PRIMARY, BackendKey("shop", "orders", 81), "healthy"))
    assert world.entries() == []
    assert world.shown().routes[0].since == NOW + 60


def test_another_reason_moves_no_since(world: World) -> None:
    world.take(orders=HEALTHY)
    world.now += 60
    world.take(orders=Decision(Choice.PRIMARY, PRIMARY, "degrade-unhealthy"))
    assert world.shown().routes[0].since == NOW
    assert world.shown().routes[0].report.decision.reason == "degrade-unhealthy"


def test_a_thousand_at_once_are_told_some_at_a_time(world: World) -> None:
    world.take(**{f"r{number}": DEGRADED for number in range(1000)})
    assert len(world.entries()) == 50
    while world.later:
        world.later.pop()()
    assert [each.target for each in world.entries()] == [f"shop/edge/r{number}" for number in range(1000)]


def test_a_restart_in_degraded_is_no_transition() -> None:
    kept = Kept(None, DEGRADED, NOW - 500, DEGRADED)
    world = World({"orders": kept, "gone": kept})
    world.take(orders=DEGRADED)
    assert world.entries() == []
    assert world.shown().routes[0].since == NOW - 500
    world.memory.settle()
    assert world.stored == {"gone": None}


def test_nothing_is_decided_before_the_world_is_whole() -> None:
    world = World({"orders": Kept(None, DEGRADED, NOW - 500, DEGRADED)}, is_whole=False)
    world.take(orders=REJECTED)
    world.take(orders=DEGRADED, mail=REJECTED)
    assert (world.entries(), world.stored) == ([], {})
    assert [each.since for each in world.shown().routes] == [NOW - 500, NOW]
    list(world.book.begin())
    assert [each.target for each in world.entries()] == ["shop/edge/mail"]


def test_what_was_good_last_is_remembered(world: World) -> None:
    for decision in (HEALTHY, DEGRADED, FAIL_OPEN, REJECTED):
        world.take(orders=decision)
    assert world.memory.good == {route_key("orders"): DEGRADED}
    assert world.stored["orders"] == Kept(None, REJECTED, NOW, DEGRADED)


def test_what_is_gone_is_forgotten(world: World) -> None:
    world.take(orders=DEGRADED, mail=HEALTHY)
    world.take(mail=HEALTHY)
    assert world.stored["orders"] is None
    list(world.book.take({KEY: None}))
    assert world.stored["mail"] is None
    assert world.book.get(KEY) is None
    assert world.book.keys() == []
    assert list(world.book.counted()) == []


def test_times_of_conditions_move_with_their_status_only(world: World) -> None:
    world.take(orders=HEALTHY)
    first = dict(world.shown().moved)
    assert set(first.values()) == {NOW}
    world.now += 10
    world.take(orders=HEALTHY)
    assert world.shown().moved == first
    world.now += 10
    world.take(orders=DEGRADED)
    assert world.shown().moved == {**first, "Degraded": NOW + 20}
    world.now += 10
    world.readings = unknown("no broker answers", 5, 30)
    assert world.shown().moved == {**first, "Degraded": NOW + 30}
    world.now += 3600
    assert world.shown().moved == {**first, "Degraded": NOW + 30}, "its message changes with the age, its time does not"


def test_looks_when_nodes_move_though_nobody_asks(world: World) -> None:
    world.take(orders=HEALTHY)
    world.look()
    world.now += 10
    world.tracker.joined(FakeNode("n1"))
    world.look()
    world.now += 100
    assert world.shown().moved["Programmed"] == NOW + 10


def test_looks_when_a_value_becomes_unknown_though_nobody_asks(world: World) -> None:
    world.take(orders=HEALTHY)
    world.look()
    world.now += 10
    world.readings = unknown("no broker answers")
    world.look()
    world.now += 10
    world.book.noted([route_key("orders")])
    world.look()
    world.now += 100
    assert world.shown().moved["Degraded"] == NOW + 20


def test_looks_at_nothing_where_nothing_moved(world: World) -> None:
    world.take(orders=HEALTHY)
    assert world.look() == 1
    assert world.look() == 0


def test_the_last_version_that_all_had_is_kept(world: World) -> None:
    world.take(orders=HEALTHY)
    node = FakeNode("n1")
    world.tracker.joined(node)
    acked = world.shown().status.last_acked_version
    assert acked
    node.accepts = False
    group = world.groups.obtain("default")
    group.publish(Snapshot("default", 2, NOW, held=None))
    assert world.shown().status.last_acked_version == acked
    assert not any(each.reason == "Programmed" for each in world.shown().status.conditions)


def test_counts_what_is_watched(world: World) -> None:
    world.take(orders=HEALTHY, mail=HEALTHY)
    assert world.book.watched() == {WATCH.query: 2}


def test_what_is_remembered_of_times_to_come_is_of_now() -> None:
    later = Kept(Conclusion(Verdict.OVER, NOW + 1e6, was_over=True), DEGRADED, NOW + 1e6, DEGRADED)
    world = World({"orders": later})
    world.take(orders=DEGRADED)
    world.now += 60
    assert world.shown().routes[0].since == NOW
    assert world.memory.conclusions[route_key("orders")].since == NOW
    world.now -= 3600
    assert world.shown().routes[0].since == world.now, "set back while the process runs"


def test_a_node_that_comes_to_be_in_sync_without_a_word_is_found(world: World) -> None:
    world.take(orders=HEALTHY)
    node = FakeNode("n1", accepts=False)
    world.tracker.joined(node)
    assert world.look() == 1
    assert world.look() == 0, "nothing has changed"
    node.accepts = True
    assert world.look() == 1
    assert world.shown().status.condition("Programmed").status == "True"
    assert world.look() == 0


def elsewhere(world: World, version: str, connected: int, acked: int) -> None:
    world.replicas.expect({"http://a": "a"})
    shares = {"default": Share(version, connected, acked)}
    world.replicas.take("http://a", Report("pod-1", "i1", 1.0, 1, whole=True, shares=shares))


def version_of(world: World) -> str:
    group = world.groups.get("default")
    assert group is not None
    assert group.current is not None
    return group.current.version


def test_the_last_version_that_all_had_is_that_of_all_replicas(world: World) -> None:
    world.take(orders=HEALTHY)
    world.tracker.joined(FakeNode("n1"))
    elsewhere(world, version_of(world), 2, 1)
    assert world.shown().status.last_acked_version == ""
    elsewhere(world, "another", 2, 2)
    assert world.shown().status.last_acked_version == ""
    elsewhere(world, version_of(world), 2, 2)
    assert world.shown().status.last_acked_version == version_of(world)
    assert world.look() == 1, "what another replica tells is looked at"
    world.replicas.lost("http://a", "gone")
    assert world.look() == 1
    assert world.shown().status.condition("Programmed").reason == "ReplicaUnknown"


def test_a_gateway_is_gone_from_envoys_once_all_have_let_go_of_it(world: World) -> None:
    made = Snapshot("default", 2, NOW, {CLUSTER: typeset(resource(cluster("c"), ORIGIN))})
    group = world.groups.obtain("default")
    group.publish(made)
    world.take(orders=HEALTHY)
    assert not world.book.is_deprogrammed(KEY), "it is declared"
    list(world.book.take({KEY: None}))
    assert not world.book.is_deprogrammed(KEY), "it is served"
    group.publish(Snapshot("default", 3, NOW))
    assert world.book.is_deprogrammed(KEY), "nobody is there"
    slow = FakeNode("n1", accepts=False)
    world.tracker.joined(slow)
    assert not world.book.is_deprogrammed(KEY)
    world.tracker.left(slow)
    elsewhere(world, "another", 1, 1)
    assert not world.book.is_deprogrammed(KEY), "another replica has not heard of it"
    elsewhere(world, version_of(world), 1, 1)
    assert world.book.is_deprogrammed(KEY)
    assert world.book.is_deprogrammed(GatewayKey("shop", "never-known"))
    world.replicas.lost("http://a", "gone")
    assert not world.book.is_deprogrammed(KEY), "that can't be told"

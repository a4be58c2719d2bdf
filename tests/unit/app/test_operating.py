"""What the operator is told of gateways: news at once, numbers in a while, and nothing before everything is there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.admin.world import FakeNode
from tests.unit.status.gateway_world import DEGRADED, HEALTHY, KEY, known, problem, report
from tests.unit.status.test_gateway_book import World
from xds_server.app.operating import AuditNotes, BookStates
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.gateway_status import Envoys
from xds_server.ir.writes import Write
from xds_server.snapshot.snapshot import Snapshot
from xds_server.status.audit_entry import Action

Told = list[tuple[str, bool]]


def followed(world: World, *, is_synced: bool = True) -> tuple[BookStates, Told]:
    """The states of a world's book, and what is told of them."""
    states = BookStates(world.book, lambda: is_synced)
    told: Told = []

    def note(key: GatewayKey, is_news: bool) -> None:  # noqa: FBT001
        told.append((str(key), is_news))

    states.follow(note)
    return states, told


def test_a_new_version_of_the_group_is_no_news_of_its_gateways() -> None:
    world = World()
    _, told = followed(world)
    world.take(orders=HEALTHY)
    world.look()
    assert told == [("shop/edge", True)]
    for seq in (2, 3):
        world.groups.obtain("default").publish(Snapshot("default", seq, world.now))
        world.readings = known(seq)
        world.look()
    assert told[1:] == [("shop/edge", False)] * 2


@pytest.mark.parametrize("change", ["decision", "fault", "generation", "Envoy"])
def test_news_are_what_is_said(change: str) -> None:
    world = World()
    _, told = followed(world)
    world.take(orders=HEALTHY)
    world.look()
    if change == "decision":
        world.take(orders=DEGRADED)
    elif change == "fault":
        list(world.book.take({KEY: report({"orders": HEALTHY}, invalid=(problem("Wrong", "it is wrong"),))}))
    elif change == "generation":
        list(world.book.take({KEY: report({"orders": HEALTHY}, applied="other")}))
    else:
        world.tracker.joined(FakeNode("envoy-0"))
    world.look()
    assert told == [("shop/edge", True)] * 2


def test_one_that_comes_back_as_it_was_is_news_to_who_missed_it() -> None:
    world = World()
    states, told = followed(world)
    for _ in range(2):
        world.take(orders=HEALTHY)
        world.look()
        list(world.book.take({KEY: None}))
        assert states.get(KEY) is None
    assert told == [("shop/edge", True)] * 2


def test_what_is_known_of_a_gateway() -> None:
    world = World()
    states, _ = followed(world)
    assert states.get(KEY) is None
    world.take(orders=DEGRADED)
    world.tracker.joined(FakeNode("envoy-0"))
    found = states.get(KEY)
    assert found is not None
    assert found.envoys == Envoys(1, 1)
    assert [(each.name, each.decision, each.backend) for each in found.routes] == [
        ("orders", "degraded", "shop/orders-lite:80")
    ]
    assert found.resync == 300.0


def test_nothing_is_known_before_all_sources_have_spoken() -> None:
    world = World()
    states, _ = followed(world, is_synced=False)
    world.take(orders=HEALTHY)
    assert states.get(KEY) is None
    list(world.book.take({KEY: None}))
    assert not states.is_deprogrammed(KEY), "who knows what else there is"
    assert followed(world)[0].is_deprogrammed(KEY)


def test_gateways_that_are_gone_are_forgotten() -> None:
    world = World()
    states, told = followed(world)
    for number in range(2500):
        key = GatewayKey("shop", f"gateway-{number}")
        list(world.book.take({key: replace(report({}), key=key)}))
        world.look()
        list(world.book.take({key: None}))
    assert len(told) == 2500
    assert len(states._told) <= 1001


def test_a_write_is_in_the_audit_log() -> None:
    world = World()
    write = Write("status", "shop/edge", "replica-0", "it differed", {"phase": "Pending"}, {"phase": "Ready"})
    AuditNotes(world.audit).wrote(write)
    (entry,), _ = world.audit.page(None, 10)
    assert (entry.action, entry.target, entry.actor) == (Action.WRITE, "status shop/edge", "replica-0")
    assert entry.after == {"phase": "Ready"}

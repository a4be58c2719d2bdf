"""Reconcile of one object: what is written when, by whom, and what comes of answers that are no success."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k8s_source.client.errors import ApiError
from k8s_source.reconcile.finalizer import FINALIZER
from k8s_source.workqueue.result import PermanentError, RetryableError
from tests.unit.k8s_source.reconcile.server import World
from tests.unit.k8s_source.reconcile.states import NO_NODES, OVER, PENDING, state
from xds_server.ir.gateway_status import Envoys
from xds_server.ir.origin import Origin


def is_withdrawn(world: World) -> bool:
    """Whether the status says that it is not served, and nothing that nobody keeps true any more."""
    told = {each["type"]: each["status"] for each in world.status.pop("conditions")}
    assert world.status == {"observedGeneration": 1, "phase": "Pending"}
    return told == {"Programmed": "False", "Ready": "False"}


async def begun(world: World) -> World:
    """Its first writes are over, and the time after the start."""
    await world.reconcile()
    world.now += 100
    world.writes.clear()
    world.events.clear()
    return world


async def test_a_new_object_costs_two_writes_and_nothing_more() -> None:
    world = World()
    assert await world.reconcile() == 300.0
    assert world.writes == ["add", "status"]
    assert world.meta.finalizers == (FINALIZER,)
    assert world.status["observedGeneration"] == 1
    for _ in range(3):
        await world.reconcile(400)
    assert world.writes == ["add", "status"]
    assert world.events == ["Programmed"]
    assert [f"{each.what} {each.target} {each.actor}" for each in world.notes] == [
        "finalizer shop/edge replica-0",
        "status shop/edge replica-0",
    ]


async def test_own_writes_count_before_the_informer_has_seen_them() -> None:
    world = World()
    await world.reconcile(sees=False)
    await world.reconcile(1, sees=False)
    assert world.writes == ["add", "status"]
    world.look()
    world.gateway = state(OVER)
    await world.reconcile(1)
    assert world.writes == ["add", "status", "status"]


async def test_a_follower_writes_nothing_and_a_new_leader_what_was_left_undone() -> None:
    world = World()
    world.leads = False
    assert await world.reconcile() is None
    assert not world.writes
    world.leads = True
    await world.reconcile()
    assert world.writes == ["add", "status"]


async def test_what_comes_and_goes_by_itself_has_to_last() -> None:
    world = await begun(World())
    world.gateway = state(PENDING)
    wait = await world.reconcile()
    assert wait == 5.0
    world.gateway = state()
    await world.reconcile(3)
    world.gateway = state(PENDING)
    assert await world.reconcile(3) == 5.0, "it was well in between"
    assert not world.writes
    await world.reconcile(5)
    assert world.writes == ["status"]


async def test_a_restart_writes_nothing_while_envoys_are_on_their_way() -> None:
    world = await begun(World())
    after = World()
    after.meta, after.status = world.meta, world.status
    after.look()
    after.gateway = state(NO_NODES, envoys=Envoys(0, 0), last_acked_version="")
    assert await after.reconcile() == 10.0
    after.gateway = state()
    await after.reconcile(9)
    assert not after.writes
    assert not after.events


async def test_a_new_leader_does_not_begin_with_numbers() -> None:
    world = await begun(World())
    after = World()
    after.meta, after.status = world.meta, world.status
    after.look()
    after.gateway = state(last_acked_version="cafe", envoys=Envoys(3, 3))
    assert await after.reconcile() == 5.0, "counts"
    assert not after.writes


async def test_numbers_are_written_alone_at_most_so_often() -> None:
    world = World()
    world.gateway = state(kafka_lag={"orders": 1.0})
    assert await world.reconcile() == 30.0
    world.writes.clear()
    for second in range(59):
        world.gateway = state(kafka_lag={"orders": float(second)})
        await world.reconcile(1)
    assert world.writes == ["status"]
    world.gateway = state(OVER, kafka_lag={"orders": 5000.0})
    await world.reconcile(1)
    assert world.writes == ["status", "status"], "with what is said they go along"
    assert world.status["kafkaLag"] == {"orders": 5000}


async def test_the_version_of_the_group_alone_is_written_when_the_object_is_looked_at_anyway() -> None:
    world = await begun(World())
    for second in range(199):  # of 300, of which 100 are over
        world.gateway = state(last_acked_version=f"{second:04x}")
        await world.reconcile(1)
    assert not world.writes, "endpoints of others change all the time"
    await world.reconcile(1)
    assert world.writes == ["status"]
    world.gateway = state(last_acked_version="cafe", last_applied_hash="cafe")
    await world.reconcile(1)
    assert world.status["lastAckedVersion"] == "cafe", "with what is said of the gateway itself it goes along"


async def test_derivation_that_is_not_as_far_as_the_object_writes_what_it_knows() -> None:
    world = await begun(World())
    world.meta = replace(world.meta, generation=2)
    world.look()
    await world.reconcile()
    assert not world.writes
    world.gateway = state(generation=2)
    await world.reconcile()
    assert world.status["observedGeneration"] == 2
    world.gateway = state(generation=3)
    await world.reconcile()
    assert world.status["observedGeneration"] == 2, "of a later form than the informer has"


async def test_an_object_that_another_source_displaces_says_so() -> None:
    world = World()
    world.gateway = state(
        generation=7, origin=Origin("files", "edge.yaml", 1, 3, kind="DynamicGateway", namespace="shop", name="edge")
    )
    await world.reconcile()
    accepted, *_, ready = world.status["conditions"]
    assert (accepted["status"], accepted["reason"]) == ("False", "DuplicateObject")
    assert "edge.yaml:3" in accepted["message"]
    assert ready["status"] == "False"
    assert world.status["phase"] == "Failed"


@pytest.mark.parametrize("status", [0, 409, 429, 500, 503])
async def test_what_may_go_well_later_is_tried_again(status: int) -> None:
    world = World()
    world.answers = [None, ApiError(status, "Conflict", "not now", 3.0)]
    with pytest.raises(RetryableError) as raised:
        await world.reconcile()
    assert raised.value.after == 3.0
    world.look()
    await world.reconcile()
    assert world.writes[-1] == "status"
    assert world.writes.count("add") == 1


async def test_what_is_refused_for_good_is_an_event_and_waits() -> None:
    world = World()
    world.answers = [None, ApiError(422, "Invalid", "status.phase: no")]
    with pytest.raises(PermanentError):
        await world.reconcile()
    assert world.events == ["WriteRefused"]


async def test_a_right_that_is_missing_is_not_asked_for_all_the_time() -> None:
    world = World()
    world.answers = [None, ApiError(403, "Forbidden", "no")]
    with pytest.raises(RetryableError) as raised:
        await world.reconcile()
    assert raised.value.after == 30.0


async def test_an_object_that_has_changed_meanwhile_gets_its_finalizer_later() -> None:
    world = World()
    world.answers = [ApiError(422, "Invalid", "a test failed")]
    with pytest.raises(RetryableError):
        await world.reconcile()
    assert world.writes == ["add: 422", "status"], "its status is told nevertheless"
    assert world.events == ["Programmed"]


async def test_an_object_that_is_gone_is_no_fault() -> None:
    world = World()
    world.answers = [ApiError(404, "NotFound", "gone")]
    assert await world.reconcile() is None
    world.seen = None
    assert await world.reconcile() is None
    assert world.writes == ["add: 404"]


async def test_a_deletion_waits_for_envoys_and_lets_go() -> None:
    world = await begun(World())
    world.meta = replace(world.meta, deleted="2026-11-30T09:00:00Z")
    world.gateway = None
    world.look()
    assert await world.reconcile() == 0.1
    assert await world.reconcile(0.1) == 0.1
    assert await world.reconcile(0.5) == pytest.approx(0.6)
    assert not world.writes
    world.is_free = True
    assert await world.reconcile(0.6) is None
    assert world.writes == ["remove"]
    assert world.meta.finalizers == ()
    assert world.events == ["Deprogrammed"]


async def test_a_deletion_waits_for_so_long_only() -> None:
    world = await begun(World())
    world.meta = replace(world.meta, deleted="2026-11-30T09:00:00Z")
    world.look()
    waited = 0.0
    while (wait := await world.reconcile()) is not None:
        waited += wait
        world.now += wait
    assert waited == pytest.approx(30.0)
    assert world.writes == ["remove"]
    assert world.events == ["Deprogramming", "NotDeprogrammed"]


@pytest.mark.parametrize("others", [(), ("other.example/keep",)])
async def test_finalizers_of_others_are_theirs(others: tuple[str, ...]) -> None:
    world = await begun(World())
    world.meta = replace(world.meta, deleted="2026-11-30T09:00:00Z", finalizers=others)
    world.look()
    assert await world.reconcile() is None
    assert not world.writes


async def test_an_object_that_was_never_in_force_goes_at_once() -> None:
    world = await begun(World())
    world.gateway = state(origin=Origin("files", "edge.yaml"))
    world.meta = replace(world.meta, deleted="2026-11-30T09:00:00Z")
    world.look()
    await world.reconcile()
    assert world.writes == ["remove"]


async def test_an_object_that_leaves_what_is_watched_is_let_go_when_envoys_have() -> None:
    world = await begun(World())
    world.leave()
    assert await world.reconcile() is not None
    assert not world.writes, "Envoys still have it"
    world.is_free = True
    assert await world.reconcile(1) is None
    assert world.writes == ["list", "status", "remove"]
    assert is_withdrawn(world)
    assert not world.meta.finalizers
    await world.reconcile(1)
    assert len(world.writes) == 3


async def test_an_object_that_leaves_while_another_leads_is_let_go_by_the_next_leader() -> None:
    world = await begun(World())
    world.is_free, world.leads = True, False
    world.leave()
    await world.reconcile()
    assert not world.writes
    world.leads = True
    assert list(world.reconciler.leavers)
    await world.reconcile()
    assert not world.meta.finalizers


@pytest.mark.parametrize("finalizers", [(FINALIZER,), (), ("other.example/keep",)])
async def test_an_object_that_left_and_was_changed_since_is_looked_at_anew(finalizers: tuple[str, ...]) -> None:
    world = await begun(World())
    world.is_free = True
    world.leave()
    world.is_there = bool(finalizers)
    world.meta = replace(world.meta, finalizers=finalizers)
    assert await world.reconcile() is None
    assert not world.reconciler.leavers
    assert ("remove" in world.writes) == (finalizers == (FINALIZER,))


async def test_an_object_that_comes_back_is_ours_again() -> None:
    world = await begun(World())
    world.leave()
    world.look()
    world.is_free = True
    await world.reconcile()
    assert not world.writes
    assert not world.reconciler.leavers


async def test_of_an_object_that_others_keep_the_status_goes() -> None:
    world = await begun(World())
    world.is_free = True
    world.meta = replace(world.meta, deleted="2026-11-30T09:00:00Z", finalizers=("other.example/keep", FINALIZER))
    world.look()
    await world.reconcile()
    assert world.writes == ["status", "remove"]
    assert is_withdrawn(world)

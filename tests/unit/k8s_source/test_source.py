"""The Kubernetes source: half a world is never handed over, nothing is taken away that was not deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from k8s_source.client.resource import DYNAMIC_GATEWAYS, SERVICES, Resource
from k8s_source.informer.condition import Phase
from k8s_source.informer.informer import Informer
from k8s_source.informer.wire import object_of
from k8s_source.kinds.items import Declared, ItemDecoder
from k8s_source.kinds.stated import Stated, StatedDecoder
from k8s_source.source import GATHER, KubernetesSource
from tests.unit.k8s_source.manifests import Body, gateway, route, service
from xds_server.ir.declared import Unit
from xds_server.ir.problem import Problem
from xds_server.sources import turns

EDGE, CART = "DynamicGateway/default/shop", "Service/default/cart"


class Sink:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.units: dict[str, Unit] = {}

    def replace(self, units: Sequence[Unit], removed: Sequence[str] = ()) -> None:
        self.told.append(({unit.key for unit in units}, set(removed)))
        self.units.update({unit.key: unit for unit in units})
        for key in removed:
            del self.units[key]

    def synced(self) -> None:
        self.told.append("synced")

    def failed(self, problem: Problem) -> None:
        self.told.append(problem)

    def recovered(self) -> None:
        self.told.append("recovered")


class Kind:
    """An informer, and the hand that does what its reflector does."""

    def __init__(self, informer: Informer[Any]) -> None:
        self.informer = informer
        self._part = informer._parts[0]
        self._version = 0

    def _found(self, body: Body, **metadata: object) -> Any:
        self._version += 1
        whole: Any = deepcopy(body)
        known = {"uid": whole["metadata"]["name"], "resourceVersion": str(self._version), "namespace": "default"}
        whole["metadata"] |= known | metadata
        return object_of(msgspec.Raw(msgspec.json.encode(whole)), self.informer.resource)

    def listed(self, *bodies: Body) -> None:
        items = [self._part.item(self._found(body)) for body in bodies]
        self._part.replace({item.key: item for item in items if item is not None})
        self._part.told(Phase.WATCHING)

    async def has(self, body: Body, **metadata: object) -> None:
        item = self._part.item(self._found(body, **metadata))
        assert item is not None
        self._part.put(item)
        await asyncio.sleep(0)

    async def lost(self, body: Body) -> None:
        self._part.remove(self._found(body))
        await asyncio.sleep(0)

    def told(self, phase: Phase, error: str = "") -> None:
        self._part.told(phase, error)


class World:
    """Two kinds, the source that reads them, and what it said."""

    def __init__(self) -> None:
        tools: Any = None  # what no reflector uses here
        services: Informer[Declared] = Informer(SERVICES, _decoder(SERVICES), tools)
        gateways: Informer[Stated] = Informer(DYNAMIC_GATEWAYS, StatedDecoder(_decoder(DYNAMIC_GATEWAYS)), tools)
        self.services, self.gateways = Kind(services), Kind(gateways)
        self.source = KubernetesSource((services, gateways))
        self.sink = Sink()

    async def ready(self) -> list[Any]:
        self.services.listed(service())
        self.gateways.listed(gateway(route()))
        await asyncio.sleep(0.01)
        self.sink.told.clear()
        return self.sink.told


def _decoder(resource: Resource) -> ItemDecoder:
    return ItemDecoder("kubernetes", resource.api_version, resource.kind)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    task = asyncio.create_task(made.source.run(made.sink))
    await asyncio.sleep(0)
    yield made
    task.cancel()


async def test_all_is_handed_over_at_once_when_every_kind_is_read(world: World) -> None:
    world.services.listed(service(), service("basket"))
    await world.services.has(service("late"))
    await asyncio.sleep(0.01)
    assert world.sink.told == []
    world.gateways.listed(gateway(route()))
    await asyncio.sleep(0.01)
    services = {CART, "Service/default/basket", "Service/default/late"}
    assert world.sink.told == [({*services, EDGE}, set()), "synced"]


async def test_the_whole_is_made_in_turns_and_handed_over_as_it_is_in_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With slices of no length others have a turn after each object: what changes meanwhile is not lost, nor told too early."""
    monkeypatch.setattr(turns, "SLICE", 0.0)
    names = [f"s{number:03}" for number in range(100)]
    world.services.listed(service(), *map(service, names))
    world.gateways.listed(gateway(route()))
    for number in range(10):
        await world.services.has(service(f"new-{number}"))
        await world.services.lost(service(names[number]))
    await world.services.lost(service("new-0"))
    assert world.sink.told == []
    await asyncio.sleep(0.1)
    assert world.sink.told[-1] == "synced"
    assert len(world.sink.told) == 2, "the whole, with what had changed meanwhile"
    services = {f"Service/default/{each}" for each in (*names[10:], *(f"new-{number}" for number in range(1, 10)))}
    assert world.sink.units.keys() == {CART, EDGE, *services}
    await world.services.lost(service())
    assert world.sink.told[-1] == (set(), {CART})


async def test_a_source_that_is_run_again_hands_over_what_is_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SLICE", 0.0)
    world = World()
    world.services.listed(*(service(f"s{number}") for number in range(100)))
    world.gateways.listed(gateway(route()))
    first = asyncio.create_task(world.source.run(world.sink))
    for _ in range(20):
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert world.sink.told == []
    await world.services.lost(service("s0"))
    again = asyncio.create_task(world.source.run(world.sink))
    await asyncio.sleep(0.1)
    assert world.sink.units.keys() == {EDGE, *(f"Service/default/s{number}" for number in range(1, 100))}
    again.cancel()


async def test_a_kind_that_is_not_there_is_read_and_empty(world: World) -> None:
    world.services.listed(service())
    world.gateways.told(Phase.ABSENT)
    await asyncio.sleep(0.01)
    assert world.sink.told == [({CART}, set()), "synced"]


async def test_changes_are_told_as_they_come(world: World) -> None:
    told = await world.ready()
    await world.services.has(service("basket"))
    await world.services.lost(service())
    assert told == [({"Service/default/basket"}, set()), (set(), {CART})]


async def test_a_gateway_that_is_being_deleted_is_gone_and_comes_back_with_no_one(world: World) -> None:
    told = await world.ready()
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}
    await world.gateways.has(gateway(route()), **leaving)
    assert told == [(set(), {EDGE})]
    await world.gateways.has(gateway(route(path="/other")), **leaving)
    await world.gateways.lost(gateway(route()))
    assert told == [(set(), {EDGE})]


async def test_a_service_that_is_being_deleted_still_serves(world: World) -> None:
    told = await world.ready()
    await world.services.has(service(), deletionTimestamp="2026-01-01T00:00:00Z")
    assert told == []


async def test_a_status_is_no_change_of_what_is_declared(world: World) -> None:
    told = await world.ready()
    await world.gateways.has({**gateway(route()), "status": {"phase": "Ready"}})
    assert told == []
    await world.gateways.has({**gateway(route(path="/other")), "status": {"phase": "Ready"}})
    assert told == [({EDGE}, set())]


async def test_what_is_wrong_with_an_object_is_told_under_its_own_key(world: World) -> None:
    await world.ready()
    await world.gateways.has(gateway(route(backend="b")))
    unit = world.sink.units[EDGE]
    assert not unit.objects
    assert {problem.field for problem in unit.problems} == {"spec.routes[0].backend"}


async def test_kinds_that_can_not_be_read_are_named_and_nothing_is_taken_away(world: World) -> None:
    told = await world.ready()
    world.services.told(Phase.STALE, "watch of services: silent")
    await gathered()
    world.services.told(Phase.STALE, "watch of services: silent")
    world.gateways.told(Phase.FORBIDDEN, "list of dynamicgateways: forbidden")
    await gathered()
    world.services.told(Phase.WATCHING)
    await gathered()
    world.gateways.told(Phase.WATCHING)
    await gathered()
    assert [str(each) for each in told] == [
        "Service: watch of services: silent",
        "Service: watch of services: silent; list of dynamicgateways: forbidden",
        "DynamicGateway: list of dynamicgateways: forbidden",
        "recovered",
    ]
    assert world.sink.units.keys() == {CART, EDGE}


async def test_a_first_list_that_fails_is_told(world: World) -> None:
    world.services.told(Phase.FORBIDDEN, "list of services: forbidden")
    await gathered()
    assert [each.message for each in world.sink.told] == ["list of services: forbidden"]


async def test_what_ails_several_kinds_is_told_once_and_what_is_over_at_once_is_not_told(world: World) -> None:
    told = await world.ready()
    world.services.told(Phase.STALE, "one")
    world.gateways.told(Phase.STALE, "two")
    await gathered()
    assert [each.message for each in told] == ["one; two"]
    world.services.told(Phase.WATCHING)
    world.services.told(Phase.STALE, "one")
    await gathered()
    assert len(told) == 1


async def gathered() -> None:
    await asyncio.sleep(GATHER + 0.05)


async def test_one_that_is_started_again_tells_everything_again(world: World) -> None:
    await world.ready()
    other = Sink()
    again = asyncio.create_task(world.source.run(other))
    await asyncio.sleep(0.01)
    again.cancel()
    assert other.told == [({CART, EDGE}, set()), "synced"]


async def test_the_objects_for_archives_are_all_that_are_right(world: World) -> None:
    await world.ready()
    await world.gateways.has(gateway(route(backend="b"), name="wrong"))
    assert sorted(str(each.key) for each in world.source.objects()) == [EDGE, CART]

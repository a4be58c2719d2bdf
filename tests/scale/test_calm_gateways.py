"""Calm: a first start with 5,000 routes does not hold the event loop, nor do all of them when they turn at once."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from bench import manifests
from tests.conformance.client import SLACK
from tests.scale.holds import GROSS, watched
from tests.scale.piped import Rounds
from tests.scale.scaling import scaled
from xds_server import process
from xds_server.app.model import GatewayModel
from xds_server.app.watching import Watching
from xds_server.demo.polling import until
from xds_server.derive.mass_breaker import BreakerState, Limits
from xds_server.ir.decision import Choice, Decision
from xds_server.ir.declared import Unit
from xds_server.ir.facts import Conclusion, FactChanges, Observation, RouteKey, Verdict
from xds_server.snapshot.assemble import Assembler
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.sources import turns
from xds_server.status.brake import Brake
from xds_server.status.events import EventBus
from xds_server.status.gateway_book import GatewayBook
from xds_server.status.gateways import Readings
from xds_server.status.replicas import Replicas
from xds_server.status.route_memory import RouteMemory
from xds_server.status.tracker import Tracker
from xds_server.status.transitions import Transitions
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes

log = logging.getLogger(__name__)


class Counting(RouteMemory):
    """Counts what is remembered, and how much of it in one turn of the event loop at most."""

    def __init__(self) -> None:
        super().__init__(time.time)
        self.concluded: list[RouteKey] = []
        self.decided: list[RouteKey] = []
        self.most = 0
        self._now = 0

    def conclude(self, route: RouteKey, conclusion: Conclusion | None) -> None:
        super().conclude(route, conclusion)
        self.concluded.append(route)
        self._count()

    def decide(self, route: RouteKey, decision: Decision) -> Decision | None:
        if decision.choice is Choice.DEGRADED:
            assert self.of(route).conclusion is not None, "a decision is remembered before the verdict that it follows"
        before = super().decide(route, decision)
        self.decided.append(route)
        self._count()
        return before

    def reset(self) -> None:
        self.most = 0
        self.concluded.clear()
        self.decided.clear()

    def _count(self) -> None:
        if not self._now:
            asyncio.get_running_loop().call_soon(self._turn_is_over)
        self._now += 1
        self.most = max(self.most, self._now)

    def _turn_is_over(self) -> None:
        self._now = 0


class World:
    """Gateways from objects to decisions, as the server joins the parts; nobody but the test samples."""

    def __init__(self, routes: int) -> None:
        self.routes = routes
        self.memory = Counting()
        bus, groups = EventBus(time.time), Groups(time.time)
        tracker = Tracker(groups, bus, time.time)
        assembler = Assembler(decode, prune_routes, deriving=GatewayModel())
        self.pipeline = Pipeline(assembler, groups, Coalesce(), Rounds(), bus.emit)
        self.feed = self.pipeline.feed("test", "test")
        transitions = Transitions(bus.emit, self, asyncio.get_running_loop().call_later)

        def make_book(readings: Readings) -> GatewayBook:
            parts = (groups, tracker, self.memory, readings, transitions)
            return GatewayBook(*parts, replicas=Replicas("ours"), clock=time.time)

        brake = Brake(Limits(100), time.time, bus.emit, self, BreakerState())
        self.watching = Watching(self.pipeline, [], self.memory, make_book, brake=brake, touched=lambda _routes: None)
        judge = self.watching.judge
        brake.connect(
            lambda: judge.routes, lambda found: self.pipeline.observe(FactChanges(found)), self.watching.noted
        )

    def decided(self, namespace: str, gateway: str, decision: str) -> None:
        """A meter."""

    def breaker_tripped(self) -> None:
        """A meter."""
        raise NotImplementedError

    async def begin(self, units: list[Unit]) -> None:
        """Hand over everything, and wait until every route is decided."""
        self.feed.replace(units)
        self.feed.synced()
        await self.until(lambda: len(self.memory.decided) >= self.routes, "all routes are decided")

    async def turn(self) -> None:
        """Have the lag of all routes be too much, and wait until all are degraded."""
        judge, before = self.watching.judge, len(self.memory.decided)
        judge.take([Observation(query, 1e6, 0.0, sampled=time.time()) for query in judge.queries("kafka")])
        await self.until(lambda: len(self.memory.decided) >= before + self.routes, "all routes are decided anew")

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        async def probe() -> bool:
            return holds()

        await until(probe, within=60 * SLACK, what=what, interval=0.05)


def _units(routes: int) -> list[Unit]:
    services = [manifests.service(number) for number in range(2 * routes)]
    slices = [manifests.endpoint_slice(number, 1) for number in range(2 * routes)]
    gateways = range(routes // manifests.ROUTES_OF_A_GATEWAY)
    return services + slices + [manifests.gateway(number, routes, 10_000) for number in gateways]


@asynccontextmanager
async def _running(routes: int) -> AsyncIterator[World]:
    world = World(routes)
    tasks = [asyncio.create_task(world.pipeline.run()), asyncio.create_task(world.watching.run())]
    yield world
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


@pytest.fixture
def as_in_the_server() -> Iterator[None]:
    """Python's collector as a server has it; what the tests before have left is of no interest to it."""
    usual = gc.get_threshold()
    process.look_seldom()
    process.keep()
    yield
    gc.unfreeze()
    gc.set_threshold(*usual)


async def test_what_is_remembered_of_routes_is_remembered_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is counted: with slices of no length no turn of the loop has more than a gateway's routes and one verdict."""
    monkeypatch.setattr(turns, "SLICE", 0.0)
    async with _running(300) as world:
        await world.begin(_units(300))
        assert len(set(world.memory.decided)) == 300
        assert world.memory.most <= manifests.ROUTES_OF_A_GATEWAY + 2
        world.memory.reset()
        await world.turn()
        assert len(set(world.memory.concluded)) == 300
        assert world.memory.most <= manifests.ROUTES_OF_A_GATEWAY + 2
        assert all(world.memory.of(each).conclusion.verdict is Verdict.OVER for each in world.memory.decided)  # type: ignore[union-attr]


@scaled("routes", 500, 5000)
@pytest.mark.usefixtures("as_in_the_server")
async def test_neither_a_start_nor_all_routes_that_turn_hold_the_loop(routes: int) -> None:
    units = _units(routes)
    async with _running(routes) as world:
        async with watched() as start:
            await world.begin(units)
            process.keep()
        async with watched() as turn:
            await world.turn()
    for what, holds in (("the start", start), ("the turn", turn)):
        log.info("%d routes: %s held %.3f s at most, %d times too long", routes, what, holds.longest, holds.over)
        assert holds.longest < GROSS

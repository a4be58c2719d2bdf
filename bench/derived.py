"""What a change costs from objects and verdicts to the next snapshot, as gateways, services and endpoints grow.

Routes are half as many as services, each with a backend and a degrade backend. Objects come decoded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import count as numbers
from statistics import median

import msgspec

from bench import manifests
from bench.manifests import ROUTES_OF_A_GATEWAY
from bench.work import Work, count
from xds_server.app.model import GatewayModel
from xds_server.ir.declared import Unit
from xds_server.ir.facts import FactChanges, Verdict
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes

SIZES = (100, 1000, 10_000)
ENDPOINTS = 10
_PORT = 10_000


class Derived(msgspec.Struct):
    """The cost of one change: CPU time, median in microseconds, and the work of one, counted.

    `made` are items of derived collections, `resources` and `resource_bytes` are of what came out other than before.
    """

    change: str
    services: int
    routes: int
    routes_on_port: int
    us: float
    made: int
    resources: int
    resource_bytes: int
    work: Work


class World:
    """Services, their endpoints, and gateways of 50 routes each; on one port all, or each on its own."""

    def __init__(self, services: int, *, one_port: bool) -> None:
        self.services = services
        self.routes = services // 2
        self.one_port = one_port
        self._generations = numbers(1)
        self.assembler = Assembler(decode, prune_routes, deriving=GatewayModel())
        gateways = -(-self.routes // ROUTES_OF_A_GATEWAY)
        self._apply(
            *(manifests.service(number) for number in range(services)),
            *(manifests.endpoint_slice(number, ENDPOINTS) for number in range(services)),
            *(self._gateway(number) for number in range(gateways)),
        )

    @property
    def routes_on_port(self) -> int:
        """How many routes the listener that is changed has."""
        return self.routes if self.one_port else min(self.routes, ROUTES_OF_A_GATEWAY)

    def endpoint(self) -> Callable[[], object]:
        """Another address of one endpoint, to be taken in."""
        generation = next(self._generations)
        unit = manifests.endpoint_slice(generation % self.services, ENDPOINTS, generation)
        return lambda: self._apply(unit)

    def route(self) -> Callable[[], object]:
        """Another path of one route."""
        unit = self._gateway(0, next(self._generations))
        return lambda: self._apply(unit)

    def verdict(self) -> Callable[[], object]:
        """The lag of one route is over its threshold, or normal again."""
        verdict = Verdict.OVER if next(self._generations) % 2 else Verdict.NORMAL
        told = FactChanges({manifests.route_key(0): verdict})
        return lambda: self.assembler.apply([], 0.0, None, told)

    def _gateway(self, number: int, generation: int = 0) -> Unit:
        port = _PORT if self.one_port else _PORT + number
        return manifests.gateway(number, self.routes, port, generation)

    def _apply(self, *units: Unit) -> None:
        self.assembler.apply([Batch(0, "bench", {unit.key: unit for unit in units})], 0.0)


def measure(sizes: Sequence[int] = SIZES, changes: int = 30) -> list[Derived]:
    """The costs of each change at each size: gateways on ports of their own, and all on one."""
    found: list[Derived] = []
    for one_port in (False, True):
        for size in sizes:
            world = World(size, one_port=one_port)
            makers = {"one endpoint": world.endpoint, "one route": world.route, "one verdict": world.verdict}
            found += [_cost(world, name, make, changes) for name, make in makers.items()]
    return found


def _cost(world: World, name: str, make: Callable[[], Callable[[], object]], changes: int) -> Derived:
    make()()
    times = [_timed(make()) for _ in range(changes)]
    work = count(make())
    round_ = world.assembler.derived
    made = sum(round_.made.values())
    bodies = [len(resource.body) for resource in round_.resources.values() if resource is not None]
    size = (world.services, world.routes, world.routes_on_port)
    return Derived(name, *size, median(times) * 1e6, made, len(bodies), sum(bodies), work)


def _timed(action: Callable[[], object]) -> float:
    started = time.thread_time()
    action()
    return time.thread_time() - started

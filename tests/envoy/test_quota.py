"""`maxQps` is for the fleet: with 1, 2 and 4 real Envoys the sum stays within 10 % of it, also while some come and go.

Every window of five seconds is looked at, so also those in which one joins or leaves.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.support.fleet import SLACK, Fleet
from tests.support.gateway_fleet import url_of
from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.envoys import Envoy
from xds_server.demo.load import Load
from xds_server.demo.manifests import DEFAULT, HTTP, Manifest, backend, gateway, listener_name, route
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(300)]

MAX_QPS = 100
LISTENER = listener_name("web")
WINDOW = 5.0
LEAST = 1 - 0.1 * SLACK
"""Of what may be let through while something is started, which takes Envoys their time on a small machine."""

TRIES = 3
OFFERED = 150.0
"""Requests a second to each Envoy: more than any part, so that only the limit counts."""


class Shop:
    """A limited route, the Envoys that serve it, and how many requests they let through."""

    def __init__(self, fleet: Fleet, stack: AsyncExitStack, plane: ControlPlane) -> None:
        self.plane = plane
        self.loads: dict[str, Load] = {}
        self._fleet = fleet
        self._stack = stack
        self._samples: list[tuple[float, int]] = []

    async def join(self, count: int = 1) -> list[Envoy]:
        """Start Envoys, each under load from its first moment."""
        joined = []
        for _ in range(count):
            mode = Mode.DELTA if len(self.loads) % 2 else Mode.SOTW
            envoy = await self._fleet.envoy(mode, self.plane.xds, node=f"envoy-{len(self.loads)}")
            load = Load({envoy.node: await url_of(envoy, LISTENER)}, rate=OFFERED, workers=4)
            self.loads[envoy.node] = await self._stack.enter_async_context(load)
            joined.append(envoy)
        return joined

    async def shared_by(self, count: int) -> None:
        """Wait until that many share the limit, and all have been told."""

        async def is_so() -> bool:
            told = await self.plane.gateway(DEFAULT, "web")
            if "routes" not in told:
                return False
            found = {each["name"]: (each["max_qps"], each["share"]) for each in told["routes"]}
            assert found.pop("free") == (None, None)
            conditions = {each["type"]: each["status"] for each in told["status"]["conditions"]}
            return found == {"orders": (MAX_QPS, 1 / count)} and conditions["Programmed"] == "True"

        await until(is_so, within=10 * SLACK, what=f"the limit is shared by {count}")

    async def watch(self) -> None:
        """Note how many were let through, ten times a second."""
        while True:
            passed = sum(tally.statuses[200] for load in self.loads.values() for tally in load.tallies.values())
            self._samples.append((time.monotonic(), passed))
            await asyncio.sleep(0.1)

    def sums(self, since: float) -> list[float]:
        """Of every window from a time on what was let through, as a part of what may be."""
        found = [each for each in self._samples if each[0] >= since]
        return [
            (passed - before) / (at - began) / MAX_QPS
            for began, before in found
            for at, passed in [next((each for each in found if each[0] >= began + WINDOW), (0.0, 0))]
            if at
        ]

    async def measure(self, seconds: float = WINDOW + 2.0) -> None:
        """Every window of the next seconds is within 10 %. What a machine that stands still loses may be measured again."""
        sums: list[float] = []
        for _ in range(TRIES):
            since = time.monotonic()
            await asyncio.sleep(seconds)
            sums = self.sums(since)
            assert max(sums) <= 1.1, sums
            if min(sums) >= 0.9:
                return
        raise AssertionError(sums)

    def is_within(self, since: float = 0.0, least: float = 0.0) -> None:
        """No window from then on was more than 10 % over, and none was less than that."""
        sums = self.sums(since)
        assert least <= min(sums) <= max(sums) <= 1.1, sums


@asynccontextmanager
async def open_shop(fleet: Fleet, folder: Path, listeners: Sequence[Manifest] = (HTTP,)) -> AsyncIterator[Shop]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(Backend("orders"))
        plane = fleet.tidegate({"state_dir": str(folder / "state")})
        hosts = ["127.0.0.1", "b.example"]
        routes = [
            route("orders", hosts=hosts, maxQps=MAX_QPS),
            route("free", "/free", backendService="orders", hosts=hosts),
        ]
        found = [*backend("orders", server.port), gateway(*routes, listeners=list(listeners))]
        write_documents(plane.files / "shop.yaml", found)
        await plane.start()
        shop = Shop(fleet, stack, plane)
        watching = asyncio.create_task(shop.watch())
        stack.callback(watching.cancel)
        yield shop


async def test_with_1_2_and_4_envoys_the_sum_is_max_qps_while_they_join_and_leave(fleet: Fleet, tmp_path: Path) -> None:
    async with open_shop(fleet, tmp_path) as shop:
        await shop.join()
        await shop.shared_by(1)
        await shop.measure()
        began = time.monotonic()
        await shop.join()
        await shop.shared_by(2)
        await shop.measure()
        await shop.join(2)
        await shop.shared_by(4)
        await shop.measure()
        shop.is_within(began, LEAST)  # also while they joined
        (last,) = await shop.join()
        await shop.shared_by(5)
        await last.child.kill()
        await shop.shared_by(4)
        await shop.measure()
        shop.is_within()


async def test_a_restart_of_the_control_plane_lets_no_more_through(fleet: Fleet, tmp_path: Path) -> None:
    async with open_shop(fleet, tmp_path) as shop:
        await shop.join(3)
        await shop.shared_by(3)
        before = await shop.plane.get("/v1/groups/default")
        await shop.measure()
        began = time.monotonic()
        await shop.plane.stop()
        await shop.plane.start()
        await shop.shared_by(3)
        await shop.measure()
        shop.is_within(began, LEAST)
        assert (await shop.plane.get("/v1/groups/default"))["version"] == before["version"]


async def test_who_is_over_max_qps_is_told_so(fleet: Fleet, tmp_path: Path) -> None:
    """Two hosts in turn have one bucket; a route without a limit has neither a limit nor the headers of one."""
    async with open_shop(fleet, tmp_path) as shop, aiohttp.ClientSession() as session:
        url = await url_of(await fleet.envoy(Mode.DELTA, shop.plane.xds), LISTENER)
        began, passed, refused = time.monotonic(), 0, []
        while (took := time.monotonic() - began) < 3.0:
            for host in ("127.0.0.1", "b.example"):
                async with session.get(url, headers={"host": host}) as answer:
                    passed += answer.status == 200
                    if answer.status != 200:
                        refused.append((answer.status, await answer.text(), answer.headers))
        assert passed <= 1.1 * MAX_QPS * took
        async with session.get(f"{url}/free") as answer:
            assert answer.status == 200
            assert not [name for name in answer.headers if "ratelimit" in name.lower()]
        status, body, headers = refused[-1]
        assert (status, body) == (429, "local_rate_limited")
        told = {name.lower(): value for name, value in headers.items() if name.lower().startswith(("x-", "retry"))}
        assert told == {
            "x-tidegate-reason": "max-qps",
            "retry-after": "1",
            "x-ratelimit-limit": f"{MAX_QPS}, {MAX_QPS};w=1",
            "x-ratelimit-remaining": "0",
            "x-ratelimit-reset": "1",
        }


async def test_a_route_on_two_listeners_has_half_of_it_on_each(fleet: Fleet, tmp_path: Path) -> None:
    async with open_shop(fleet, tmp_path, [HTTP, {**HTTP, "name": "more"}]) as shop:
        envoy = await fleet.envoy(Mode.DELTA, shop.plane.xds)
        names = {name: await url_of(envoy, name) for name in (LISTENER, f"http-{DEFAULT}-web-more")}
        began = time.monotonic()
        async with Load(names, rate=OFFERED) as load:
            await asyncio.sleep(WINDOW)
        took = time.monotonic() - began
        parts = [tally.statuses[200] / took / MAX_QPS for tally in load.tallies.values()]
        assert all(LEAST / 2 <= part <= 0.55 for part in parts), parts

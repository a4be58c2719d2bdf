"""A gateway whose one route follows the lag of a consumer group: real Tidegate, real Envoys, load, and any broker."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support.fleet import SLACK, Fleet
from tests.support.lagging import LaggingGroup
from xds_server.demo.backends import Backend
from xds_server.demo.control_plane import ControlPlane, Json
from xds_server.demo.load import Load
from xds_server.demo.manifests import DEFAULT, backend, gateway, listener_name, route
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import write_documents

PRIMARY, LITE = "checkout", "checkout-lite"
"""The services, and the names that their backends answer with."""

THRESHOLD, RECOVER = 100, 80
"""Lag over the first degrades; lag of at most the second brings back."""

INTERVAL, TTL, RESET = 0.5, 2.0, 3.0
"""Seconds: between samples, until a value is too old, and for which a broker that failed is left alone."""

SAMPLING: Json = {
    "interval": f"{INTERVAL}s",
    "timeout": "1s",
    "ttl": f"{TTL}s",
    "breaker": {"failures": 3, "reset": f"{RESET}s"},
}


@dataclass(frozen=True)
class Shop:
    """What runs, and what is asked of it."""

    plane: ControlPlane
    group: LaggingGroup
    load: Load
    dwell: float

    async def route(self) -> Json:
        """The route as the admin API tells it."""
        found: Json = (await self.plane.gateway(DEFAULT, "checkout"))["routes"][0]
        return found

    async def since(self) -> float:
        """When the route was decided as it is (POSIX seconds)."""
        return datetime.fromisoformat((await self.route())["since"]).timestamp()

    async def condition(self, kind: str) -> Json:
        """One condition of the gateway's status."""
        conditions = (await self.plane.gateway(DEFAULT, "checkout"))["status"]["conditions"]
        return next(entry for entry in conditions if entry["type"] == kind)

    async def observed(self) -> Json:
        """What is known of the lag."""
        (found,) = (await self.plane.get("/v1/observers"))["observers"]
        assert isinstance(found, dict)
        return found

    async def observes(self, within: float = 10.0, **fields: Any) -> Json:
        """Wait until the observation has these fields."""

        async def found() -> Json | None:
            now = await self.observed()
            return now if all(now[name] == value for name, value in fields.items()) else None

        return await until(found, within=within * SLACK, what=f"observed {fields}")

    async def leads_to(self, name: str, within: float = 10.0) -> float:
        """Wait until every Envoy answers from the backend of that name; return when (POSIX seconds)."""

        async def all_do() -> bool:
            return all(tally.latest == name for tally in self.load.tallies.values())

        await until(all_do, within=within * SLACK, what=f"requests are answered by {name}", interval=0.01)
        return time.time()

    def answers(self, name: str) -> int:
        """How many requests the backend of that name has answered."""
        return sum(tally.answered_by[name] for tally in self.load.tallies.values())

    async def switches(self) -> float:
        """How often a decision has changed."""
        return await self._metric("tidegate_gateway_transitions_total")

    async def rounds(self) -> float:
        """How often the broker was asked, whatever came of it."""
        return await self._metric("tidegate_observer_sample_seconds_count")

    async def _metric(self, name: str) -> float:
        _, text = await self.plane.request("/metrics")
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))


@asynccontextmanager
async def open_shop(
    folder: Path, bootstrap: str, topic: str, *, dwell: float = 2.0, state: Path | None = None, **fields: Any
) -> AsyncIterator[Shop]:
    """Start it all, with a lag of 0, and yield once every request is answered by the primary backend.

    The group has room for a lag of 11,000; its commits are on partition 0 of `topic`. `fields` are added to the route.
    `state` is where what Tidegate remembers outlives it.
    """
    group = LaggingGroup(bootstrap, topic, f"{topic}-group")
    await group.fill(11_000)
    await group.lag(0)
    async with AsyncExitStack() as stack:
        fleet = Fleet(folder, stack)
        backends = [await stack.enter_async_context(Backend(name)) for name in (PRIMARY, LITE)]
        kafka = {**SAMPLING, "clusters": {"default": {"bootstrap": bootstrap}}}
        remembers = {"state_dir": str(state)} if state is not None else {}
        plane = fleet.tidegate({"observers": {"kafka": kafka}, **remembers})
        write_documents(plane.files / "shop.yaml", _manifests(backends, group, dwell, fields))
        await plane.start()
        await fleet.both(plane.xds)
        load = Load(await fleet.urls(listener_name("checkout")), rate=50)
        async with load:
            shop = Shop(plane, group, load, dwell)
            await shop.observes(value=0)
            await shop.leads_to(PRIMARY)
            yield shop
        assert load.failed == 0, load.failures()


def _manifests(backends: list[Backend], group: LaggingGroup, dwell: float, fields: Json) -> list[Json]:
    follows = {
        "degradeService": LITE,
        "kafkaConsumerGroup": group.group,
        "kafkaTopics": [group.topic],
        "kafkaLagThreshold": THRESHOLD,
        "minDwell": f"{dwell}s",
        **fields,
    }
    parts = [part for each in backends for part in backend(each.name, each.port)]
    return [*parts, gateway(route("orders", backendService=PRIMARY, **follows), name="checkout")]

"""The demo's story: a consumer lags and a route degrades and comes back, it moves, a document is refused and repaired."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import aiohttp
from confluent_kafka import KafkaException

from xds_server.demo.control_plane import Json
from xds_server.demo.display import Display, Outcome
from xds_server.demo.following import Follower, tell_version
from xds_server.demo.load import Load
from xds_server.demo.polling import until
from xds_server.demo.processes import ProcessEndedError
from xds_server.demo.scene import DWELL, GATEWAY, NAMESPACE, RECOVER, THRESHOLD
from xds_server.demo.stage import INTERVAL, Stage

LIMIT = 2 * INTERVAL
"""Seconds that a switch may take, from the moment that it is due until both Envoys answer from the other backend."""

EARLY = 0.1
"""Seconds by which clocks and readings may differ."""


class CheckFailedError(Exception):
    """Something is not as the story says."""


FAILURES = (CheckFailedError, ProcessEndedError, TimeoutError, aiohttp.ClientError, KafkaException, KeyError)
"""What ends a step, and is told as its problem."""


class Story:
    """Plays the steps on a stage, checks each through both Envoys and the admin API, and says what happens."""

    def __init__(self, stage: Stage, load: Load, display: Display, follower: Follower, pace: float) -> None:
        """Play on `stage` under `load`; `pace` is how long each step is watched, in seconds.

        `follower` tells decisions beside the story, and at once when they are due.
        """
        self._stage = stage
        self._plane = stage.plane
        self._scene = stage.scene
        self._load = load
        self._display = display
        self._follower = follower
        self._pace = pace
        self._answers = stage.scene.primary

    async def begin(self) -> Outcome:
        """The first configuration is served."""
        return await self._step("healthy", self._healthy)

    async def round(self) -> list[Outcome]:
        """One round of changes; it ends early at a step that fails."""
        steps = {
            "degraded": self._degrade,
            "recovered": self._recover,
            "moved": self._move,
            "refused": self._refuse,
            "repaired": self._repair,
        }
        outcomes = []
        for name, action in steps.items():
            outcomes.append(await self._step(name, action))
            if not outcomes[-1].passed:
                break
        return outcomes

    async def _step(self, name: str, action: Callable[[], Awaitable[float]]) -> Outcome:
        sent, failed, took, problem = self._load.sent, self._load.failed, 0.0, ""
        version = ""
        try:
            took = await action()
            await asyncio.sleep(self._pace)
            await self._check_answers()
            version = str((await self._plane.group())["version"])
        except FAILURES as error:
            problem = f"{type(error).__name__}: {error}"
            self._display.log("error", problem)
        self._display.traffic(self._load.rate, self._load.sent, self._load.failed)
        return Outcome(name, version, took, self._load.sent - sent, self._load.failed - failed, problem)

    async def _healthy(self) -> float:
        await tell_version(self._stage, self._display, await self._plane.programmed(nodes=len(self._stage.envoys)))
        await self._decides("primary")
        return 0.0

    async def _degrade(self) -> float:
        before = await self._plane.sequence()
        self._stage.orders.pause()
        self._display.log("kafka", "the consumer stands still, orders go on coming in")
        passed = await self._stage.orders.reader.rises_over(THRESHOLD, within=20)
        self._display.log("kafka", f"lag {passed.lag}: over the threshold of {THRESHOLD}")
        took = await self._switched(self._scene.lite, due=passed.at, after=before)
        await self._decides("degraded")
        return took

    async def _recover(self) -> float:
        before = await self._plane.sequence()
        held = datetime.fromisoformat((await self._decides("degraded"))["since"]).timestamp() + DWELL
        self._stage.orders.resume()
        self._display.log("kafka", "the consumer goes on")
        passed = await self._stage.orders.reader.falls_to(RECOVER, within=20)
        wait = held - time.time()
        dwell = f"minDwell holds for another {wait:.1f} s" if wait > 0 else "minDwell is over"
        self._display.log("kafka", f"lag {passed.lag}: at most {RECOVER}; {dwell}")
        took = await self._switched(self._scene.primary, due=max(passed.at, held), after=before)
        await self._decides("primary")
        return took

    async def _switched(self, to: str, *, due: float, after: int) -> float:
        """Wait until both Envoys answer from `to`; return how long after `due` (POSIX seconds) that was."""

        async def done() -> bool:
            return all(tally.latest == to for tally in self._load.tallies.values())

        within = max(0.0, due - time.time()) + 5 * LIMIT
        await until(done, within=within, what=f"all requests are answered by {to}", interval=0.01)
        took = time.time() - due
        self._answers = to
        await self._follower.look()
        group = await self._plane.programmed(after=after, nodes=len(self._stage.envoys))
        await tell_version(self._stage, self._display, group)
        self._display.log("change", f"both Envoys lead to {to}, {took:.2f} s after it was due (limit {LIMIT:g} s)")
        if not -EARLY <= took <= LIMIT:
            raise CheckFailedError(f"the switch to {to} came {took:.2f} s after it was due")
        return took

    async def _decides(self, decision: str) -> Json:
        """Return the route as the admin API tells it; fail when another decision was made."""
        gateway = await self._plane.gateway(NAMESPACE, GATEWAY)
        route: Json = gateway["routes"][0]
        if route["decision"] != decision:
            raise CheckFailedError(f"decided {route['decision']} ({route['reason']}), expected {decision}")
        return route

    async def _move(self) -> float:
        before = await self._plane.sequence()
        self._scene.move()
        started = time.time()
        self._display.log("change", f"backendService is now {self._scene.primary}: a new cluster, the old one goes")
        group = await self._plane.programmed(after=before, nodes=len(self._stage.envoys))
        took = time.time() - started
        self._answers = self._scene.primary
        await tell_version(self._stage, self._display, group)
        await self._check_clusters()
        return took

    async def _refuse(self) -> float:
        before = await self._plane.sequence()
        self._scene.spoil()
        started = time.time()
        self._display.log("change", 'a native document beside the manifests: a route with the regex "["')
        for envoy in self._stage.envoys:
            await self._refused_by(envoy.node, before)
        group = await self._plane.group()
        if group["programmed"] or group["nodes"]["nacked"] != len(self._stage.envoys):
            raise CheckFailedError(f"the refusal is not in the group's state: {group['nodes']}")
        return time.time() - started

    async def _refused_by(self, node: str, before: int) -> None:
        async def nack() -> dict[str, Any] | None:
            group, answer = await self._plane.group(), await self._plane.node(node)
            refusal = answer.get("types", {}).get("rds", {}).get("nacked")
            fresh = group["seq"] > before and refusal and refusal["version"] == group["types"]["rds"]["version"]
            return refusal if fresh else None

        refusal = await until(nack, within=10, what=f"{node} refuses the route configuration")
        self._display.nacked(node, "rds", refusal["version"], refusal["error"]["message"])

    async def _repair(self) -> float:
        before = await self._plane.sequence()
        self._scene.repair()
        started = time.time()
        self._display.log("change", "the native document is gone again")
        group = await self._plane.programmed(after=before, nodes=len(self._stage.envoys))
        took = time.time() - started
        await tell_version(self._stage, self._display, group)
        return took

    async def _check_answers(self) -> None:
        """Both Envoys answer 200 from the backend of the story, whatever was refused meanwhile."""
        for node, url in self._stage.urls.items():
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                answer = (response.status, await response.text())
            if answer != (200, self._answers):
                raise CheckFailedError(f"{node} answers {answer}, expected 200 from {self._answers}")

    async def _check_clusters(self) -> None:
        """Both Envoys hold the clusters that are needed, and no other."""
        for envoy in self._stage.envoys:
            names = {entry["cluster"]["name"] for entry in await envoy.dump("dynamic_active_clusters")}
            if names != self._scene.clusters:
                raise CheckFailedError(f"{envoy.node} holds clusters {sorted(names)}")

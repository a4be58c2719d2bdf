"""The demo's story: a route moves, a configuration is refused, it is repaired; and no request fails."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from xds_server.demo.control_plane import Json
from xds_server.demo.display import Display, Outcome
from xds_server.demo.load import Load
from xds_server.demo.polling import until
from xds_server.demo.processes import ProcessEndedError
from xds_server.demo.stage import Stage


class CheckFailedError(Exception):
    """Something is not as the story says."""


class Story:
    """Plays the steps on a stage, checks each through both Envoys and the admin API, and says what happens."""

    def __init__(self, stage: Stage, load: Load, display: Display, pace: float) -> None:
        """Play on `stage` under `load`; `pace` is how long each step is watched, in seconds."""
        self._stage = stage
        self._plane = stage.plane
        self._load = load
        self._display = display
        self._pace = pace

    async def begin(self) -> Outcome:
        """The first configuration is served."""
        return await self._step("healthy", self._healthy)

    async def round(self) -> list[Outcome]:
        """One round of changes; it ends early at a step that fails."""
        outcomes = []
        for name, action in (("moved", self._move), ("refused", self._refuse), ("repaired", self._repair)):
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
        except (CheckFailedError, ProcessEndedError, TimeoutError, aiohttp.ClientError, KeyError) as error:
            problem = f"{type(error).__name__}: {error}"
            self._display.log("error", problem)
        self._display.traffic(self._load.rate, self._load.sent, self._load.failed)
        return Outcome(name, version, took, self._load.sent - sent, self._load.failed - failed, problem)

    async def _healthy(self) -> float:
        group = await self._plane.programmed(nodes=len(self._stage.envoys))
        await self._tell(group)
        return 0.0

    async def _move(self) -> float:
        return await self._change("the route moves to a freshly added cluster", self._stage.scene.move)

    async def _repair(self) -> float:
        return await self._change("repaired, and the route moves on", self._stage.scene.move)

    async def _change(self, what: str, write: Callable[[], None]) -> float:
        """Make a good change and wait until both Envoys run it; return how long that took in seconds."""
        before = await self._plane.sequence()
        write()
        started = time.monotonic()
        self._display.log("change", f"{what}: {self._stage.scene.cluster}")
        group = await self._plane.programmed(after=before, nodes=len(self._stage.envoys))
        took = time.monotonic() - started
        await self._tell(group)
        if group["counts"]["cds"] != 1:
            raise CheckFailedError(f"the old cluster is still served: {group['counts']}")
        await self._check_clusters()
        return took

    async def _refuse(self) -> float:
        before = await self._plane.sequence()
        self._stage.scene.spoil()
        started = time.monotonic()
        self._display.log("change", 'a route with the regex "[", which Envoy refuses')
        for envoy in self._stage.envoys:
            await self._refused_by(envoy.node, before)
        group = await self._plane.group()
        if group["programmed"] or group["nodes"]["nacked"] != len(self._stage.envoys):
            raise CheckFailedError(f"the refusal is not in the group's state: {group['nodes']}")
        return time.monotonic() - started

    async def _refused_by(self, node: str, before: int) -> None:
        async def nack() -> dict[str, Any] | None:
            group, answer = await self._plane.group(), await self._plane.node(node)
            refusal = answer.get("types", {}).get("rds", {}).get("nacked")
            fresh = group["seq"] > before and refusal and refusal["version"] == group["types"]["rds"]["version"]
            return refusal if fresh else None

        refusal = await until(nack, within=10, what=f"{node} refuses the route configuration")
        self._display.nacked(node, "rds", refusal["version"], refusal["error"]["message"])

    async def _tell(self, group: Json) -> None:
        counts = ", ".join(f"{count} {kind}" for kind, count in group["counts"].items() if count)
        self._display.log("version", f"{group['version'][:8]} (number {group['seq']}): {counts}")
        for envoy in self._stage.envoys:
            types = (await self._plane.node(envoy.node))["types"]
            acked = {kind: state["acked"]["version"] for kind, state in types.items() if state.get("acked")}
            self._display.acked(envoy.node, acked)

    async def _check_answers(self) -> None:
        """Both Envoys answer 200 from the backend of the scene, whatever was refused meanwhile."""
        for node, url in self._stage.urls.items():
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                answer = (response.status, await response.text())
            if answer != (200, self._stage.scene.backend):
                raise CheckFailedError(f"{node} answers {answer}, expected 200 from {self._stage.scene.backend}")

    async def _check_clusters(self) -> None:
        """Both Envoys hold the new cluster only."""
        for envoy in self._stage.envoys:
            active = await envoy.dump("dynamic_active_clusters")
            names = [entry["cluster"]["name"] for entry in active]
            if names != [self._stage.scene.cluster]:
                raise CheckFailedError(f"{envoy.node} holds clusters {names}")

"""Tell what Tidegate makes of the lag, and which version comes of it, as it happens."""

from __future__ import annotations

import asyncio

import aiohttp

from xds_server.demo.control_plane import Json
from xds_server.demo.display import Display
from xds_server.demo.scene import GATEWAY, NAMESPACE
from xds_server.demo.stage import Stage

PERIOD = 0.2
"""Seconds from one look to the next."""

STEP = 25
"""How many messages the lag has to rise or fall to be told again."""


async def tell_version(stage: Stage, display: Display, group: Json) -> None:
    """Print the version of a group, and what each Envoy has accepted."""
    counts = ", ".join(f"{count} {kind}" for kind, count in group["counts"].items() if count)
    display.log("version", f"{group['version'][:8]} (number {group['seq']}): {counts}")
    for envoy in stage.envoys:
        types = (await stage.plane.node(envoy.node)).get("types", {})
        display.acked(envoy.node, {k: state["acked"]["version"] for k, state in types.items() if state.get("acked")})


class Follower:
    """Looks at the gateway again and again and prints what is decided; with `everything` also what else is new.

    That is each version that all Envoys run, and what is wrong with the gateway.
    """

    def __init__(self, stage: Stage, display: Display, *, everything: bool = False) -> None:
        """Follow what happens on `stage`; nothing is asked before `run`."""
        self._stage = stage
        self._display = display
        self._everything = everything
        self._told: dict[str, tuple[str, float | None]] = {}
        self._trouble: str | None = None
        self._version = 0

    async def run(self) -> None:
        """Follow until cancelled."""
        answered = True
        while True:
            try:
                await self.look()
                if self._everything:
                    await self._look_for_version()
                answered = True
            except (aiohttp.ClientError, TimeoutError) as error:
                if answered:
                    self._display.log("error", f"the admin API does not answer: {error}")
                answered = False
            await asyncio.sleep(PERIOD)

    async def look(self) -> None:
        """Print what is new. Raises aiohttp.ClientError, TimeoutError."""
        gateway = await self._stage.plane.gateway(NAMESPACE, GATEWAY)
        for route in gateway.get("routes", []):
            now, before = (str(route["decision"]), route["lag"]), self._told.get(route["name"], ("", None))
            if now[0] != before[0] or not _close(now[1], before[1]):
                self._told[route["name"]] = now
                self._display.log("decision", _words(route))
        if self._everything:
            self._tell_trouble(gateway.get("status", {}).get("lastError"))

    def _tell_trouble(self, trouble: str | None) -> None:
        if trouble and trouble != self._trouble:
            self._display.log("wrong", trouble)
        self._trouble = trouble

    async def _look_for_version(self) -> None:
        group = await self._stage.plane.group()
        if group.get("seq", 0) > self._version and group["programmed"]:
            self._version = group["seq"]
            await tell_version(self._stage, self._display, group)


def _close(lag: float | None, told: float | None) -> bool:
    """Whether a lag is hardly another than what was told."""
    if lag is None or told is None:
        return lag is told
    return abs(lag - told) < STEP


def _words(route: Json) -> str:
    """A route's lag and decision."""
    lag = "unknown" if route["lag"] is None else f"{route['lag']:g}"
    watched = "no lag is watched" if route["threshold"] is None else f"lag {lag}, threshold {route['threshold']:g}"
    return f"{watched}: {route['decision']} ({route['reason']}), to {route['backend']}"

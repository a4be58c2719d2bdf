"""Tell what Tidegate makes of the lag, and which version comes of it, as it happens."""

from __future__ import annotations

import asyncio

import aiohttp

from xds_server.demo.control_plane import Json
from xds_server.demo.display import Display
from xds_server.demo.manifests import NAMESPACE
from xds_server.demo.scene import GATEWAY
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
    """Looks at the gateway again and again and prints what is new; with `versions` also each version that all run."""

    def __init__(self, stage: Stage, display: Display, *, versions: bool = False) -> None:
        """Follow what happens on `stage`; nothing is asked before `run`."""
        self._stage = stage
        self._display = display
        self._versions = versions
        self._told: tuple[str, float | None] = ("", None)
        self._version = 0

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                await self.look()
                if self._versions:
                    await self._look_for_version()
            except (aiohttp.ClientError, TimeoutError) as error:
                self._display.log("error", f"the admin API does not answer: {error}")
            await asyncio.sleep(PERIOD)

    async def look(self) -> None:
        """Print what is new. Raises aiohttp.ClientError, TimeoutError."""
        for route in (await self._stage.plane.gateway(NAMESPACE, GATEWAY)).get("routes", []):
            decision, lag = str(route["decision"]), route["lag"]
            if decision == self._told[0] and _close(lag, self._told[1]):
                continue
            self._told = (decision, lag)
            said = "unknown" if lag is None else f"{lag:g}"
            text = (
                f"lag {said}, threshold {route['threshold']:g}: {decision} ({route['reason']}), to {route['backend']}"
            )
            self._display.log("decision", text)

    async def _look_for_version(self) -> None:
        group = await self._stage.plane.group()
        if group["seq"] > self._version and group["programmed"]:
            self._version = group["seq"]
            await tell_version(self._stage, self._display, group)


def _close(lag: float | None, told: float | None) -> bool:
    """Whether a lag is hardly another than what was told."""
    if lag is None or told is None:
        return lag is told
    return abs(lag - told) < STEP

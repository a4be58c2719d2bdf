"""The containers of `docker-compose.yaml`: started, asked and taken down by `docker compose`."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import aiohttp

from xds_server.demo.load import Load
from xds_server.demo.polling import until

ROOT = Path(__file__).parents[2]
ENVOYS = ("envoy-sotw", "envoy-delta")
CONTROL_PLANE = "control-plane"

ENVIRONMENT = {**os.environ, "COMPOSE_PROJECT_NAME": "tidegate-test", "COMPOSE_ANSI": "never"}
"""Not the project's own name, so that nobody's running demo is taken down."""


def missing() -> str:
    """What a run needs and does not find, in words; empty when all is there."""
    if (docker := shutil.which("docker")) is None:
        return "needs docker"
    for what in (["compose", "version"], ["info"]):
        done = subprocess.run([docker, *what], capture_output=True, text=True, check=False)
        if done.returncode:
            return f"`docker {' '.join(what)}` fails: {done.stderr.strip()}"
    return ""


def compose(*arguments: str, timeout: float = 600) -> str:
    """What `docker compose` prints; the test fails when it does. `timeout` is in seconds."""
    done = subprocess.run(
        [shutil.which("docker") or "docker", "compose", *arguments],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"docker compose {' '.join(arguments)}\n{done.stdout}"
    return done.stdout


class Stack:
    """All containers, once they run and are healthy. `ports` is where each service is published on loopback."""

    def __init__(self) -> None:
        """Ask where the services are published."""
        inner = {**dict.fromkeys(ENVOYS, "8080"), CONTROL_PLANE: "19000"}
        self.ports = {name: compose("port", name, port).strip().rpartition(":")[2] for name, port in inner.items()}

    def load(self) -> Load:
        """Steady requests through both Envoys; nothing is sent yet."""
        return Load({name: f"http://127.0.0.1:{self.ports[name]}/" for name in ENVOYS}, rate=50)

    async def run(self, *arguments: str) -> str:
        """`compose` beside the load."""
        return await asyncio.to_thread(compose, *arguments)

    async def tidegate(self, *arguments: str) -> str:
        """A command of ours in the control plane's container, where it may change things."""
        return await self.run("exec", CONTROL_PLANE, "tidegate", *arguments)

    async def ask(self, path: str) -> dict[str, Any]:
        """GET `path` of the admin API. Raises aiohttp.ClientError."""
        url = f"http://127.0.0.1:{self.ports[CONTROL_PLANE]}{path}"
        async with aiohttp.ClientSession(raise_for_status=True) as session, session.get(url) as response:
            answer: dict[str, Any] = await response.json()
            return answer

    async def observed(self) -> dict[str, Any]:
        """What is known of the lag."""
        (found,) = (await self.ask("/v1/observers"))["observers"]
        assert isinstance(found, dict)
        return found

    async def programmed(self) -> str:
        """Wait until both Envoys have accepted what is served; return its version."""

        async def accepted() -> str | None:
            group = await self.ask("/v1/groups/default")
            assert group["nodes"]["nacked"] == 0
            return str(group["version"]) if group["programmed"] and group["nodes"]["acked"] == len(ENVOYS) else None

        return await until(accepted, within=30, what="both Envoys have accepted what is served")


async def leads_to(load: Load, backend: str, *, within: float) -> None:
    """Wait until every Envoy's requests are answered by `backend`."""

    async def all_do() -> bool:
        return all(tally.latest.strip() == backend for tally in load.tallies.values())

    await until(all_do, within=within, what=f"both Envoys lead to {backend}")

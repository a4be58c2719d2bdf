"""Run `tidegate serve` as a process of its own, and ask its admin API."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp

from xds_server.demo.polling import until
from xds_server.demo.processes import Child, ProcessEndedError, our_environment
from xds_server.demo.yaml_files import to_yaml

Json = dict[str, Any]
"""A JSON object of the admin API; the shapes are those of its OpenAPI document."""


class ControlPlane:
    """One Tidegate that serves the files of a folder. Ports are free ones, and stay the same over restarts."""

    def __init__(self, folder: Path, *, admin_port: int = 0, settings: Mapping[str, Any] | None = None) -> None:
        """Prepare a Tidegate whose files lie in `folder`/files; nothing runs before `start`.

        `settings` are further sections of its configuration file; a section given here is merged into ours.
        """
        self.files = folder / "files"
        self.files.mkdir(parents=True, exist_ok=True)
        self.addresses = {"xds": "127.0.0.1:0", "admin": f"127.0.0.1:{admin_port}"}
        self._folder = folder
        self._settings = dict(settings or {})
        self._child: Child | None = None
        self._session: aiohttp.ClientSession | None = None

    async def start(self, *, ready: bool = True, within: float = 20.0) -> None:
        """Start it and wait until it is bound, and ready unless `ready` is false.

        Raises ProcessEndedError when it ends at once, TimeoutError after `within` seconds.
        """
        config, addresses = self._folder / "tidegate.yaml", self._folder / "addresses.json"
        config.write_text(to_yaml(self._configuration()))
        addresses.unlink(missing_ok=True)
        command = [sys.executable, "-m", "xds_server", "serve", "--config", str(config)]
        command += ["--address-file", str(addresses)]
        self._child = await Child.spawn(
            "tidegate", command, log=self._folder / "tidegate.log", environment=our_environment()
        )
        self.addresses = json.loads(await self._child.wait_for_file(addresses, within))
        self._session = self._session or aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5))
        if ready:
            await until(self.ready, within=within, what="tidegate is ready")

    async def stop(self, grace: float = 10.0) -> int:
        """Ask it to end, insist after `grace` seconds; return its exit code."""
        if self._session is not None:
            await self._session.close()
            self._session = None
        return await self.child.stop(grace) if self._child is not None else 0

    @property
    def child(self) -> Child:
        """Its process. Raises ProcessEndedError before `start`."""
        if self._child is None:
            raise ProcessEndedError("tidegate was not started")
        return self._child

    @property
    def xds(self) -> str:
        """Where it serves xDS: `host:port`."""
        return str(self.addresses["xds"])

    @property
    def admin(self) -> str:
        """The URL of its admin API."""
        return f"http://{self.addresses['admin']}"

    async def request(self, path: str) -> tuple[int, str]:
        """GET `path` of the admin API: status and text. Raises aiohttp.ClientError, TimeoutError."""
        if self._session is None:
            raise ProcessEndedError("tidegate was not started")
        async with self._session.get(self.admin + path) as response:
            return response.status, await response.text()

    async def get(self, path: str) -> Json:
        """GET `path` of the admin API, decoded; an error's problem document, too."""
        _, text = await self.request(path)
        answer: Json = json.loads(text)
        return answer

    async def ready(self) -> bool:
        """Whether `/readyz` says yes."""
        try:
            status, _ = await self.request("/readyz")
        except (aiohttp.ClientError, TimeoutError):
            return False
        return status == HTTPStatus.OK

    async def group(self, name: str = "default") -> Json:
        """What `/v1/groups/{name}` says."""
        return await self.get(f"/v1/groups/{name}")

    async def node(self, node: str) -> Json:
        """The newest stream of one node: the first of `/v1/nodes/{node}` that is connected, or {}."""
        answer = await self.get(f"/v1/nodes/{node}")
        return next((entry for entry in answer.get("nodes", []) if entry["connected"]), {})

    async def gateway(self, namespace: str, name: str) -> Json:
        """What `/v1/gateways/{namespace}/{name}` says of the gateway; {} while it is not known."""
        answer = await self.get(f"/v1/gateways/{namespace}/{name}")
        return next(iter(answer.get("gateways", [])), {})

    async def sequence(self, group: str = "default") -> int:
        """The number of the group's newest version, 0 without any."""
        return int((await self.group(group)).get("seq", 0))

    async def programmed(self, *, after: int = 0, nodes: int = 1, group: str = "default", within: float = 10.0) -> Json:
        """Wait for a version later than `after` that `nodes` Envoys or more have all accepted; return the group.

        Raises TimeoutError.
        """

        async def accepted() -> Json | None:
            answer = await self.group(group)
            done = answer.get("seq", 0) > after and answer.get("programmed")
            return answer if done and answer["nodes"]["connected"] >= nodes else None

        what = f"group {group} is programmed past {after} on {nodes} node(s)"
        return await until(accepted, within=within, what=what, interval=0.03)

    def _configuration(self) -> Json:
        ours: Json = {
            "xds": {"address": self.addresses["xds"]},
            "admin": {"address": self.addresses["admin"]},
            "sources": [{"kind": "files", "path": str(self.files), "watch": True}],
        }
        for section, values in self._settings.items():
            ours[section] = {**ours.get(section, {}), **values} if isinstance(values, dict) else values
        return ours

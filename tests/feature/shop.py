"""A shop's gateway in files, and a Tidegate that serves it and is told its lag by the planted observer."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.client import SLACK
from tests.conformance.server import Restartable, restartable
from tests.feature import planted_observer
from xds_server.cli.client import Access, Client
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import replace_file, write_documents

LAG = "default/orders"
"""The key of what the route `orders` watches."""


def gateway(policy: Json | None = None, **route: Any) -> Json:
    """A gateway with a route that follows the lag of the group `orders`, and one that watches nothing."""
    orders = {
        "name": "orders",
        "path": "/orders",
        "backendService": "orders",
        "degradeService": "orders-lite",
        "kafkaConsumerGroup": "orders",
        "kafkaLagThreshold": 100,
        "minDwell": "0s",
        **route,
    }
    plain = {"name": "plain", "path": "/plain", "backendService": "orders"}
    return {
        "apiVersion": "gateway.tidegate.dev/v1alpha1",
        "kind": "DynamicGateway",
        "metadata": {"name": "edge", "namespace": "shop", "generation": 3},
        "spec": {"routes": [orders, plain], **({"policy": policy} if policy else {})},
    }


def backend(name: str, addresses: Sequence[str]) -> list[Json]:
    """A Service and its endpoints."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"ports": [{"port": 80}]},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": f"{name}-1", "namespace": "shop", "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "ports": [{"port": 8080}],
            "endpoints": [{"addresses": [address]} for address in addresses],
        },
    ]


class Shop:
    """The server, its files, and the lag."""

    def __init__(self, server: Restartable, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.state = folder / "state"

    def declare(self, *gateways: Json) -> None:
        """Write the gateways' file; there is none where there is no gateway."""
        file = self.server.plane.files / "gateways.yaml"
        if gateways:
            write_documents(file, gateways)
        else:
            file.unlink()

    def serve(self, name: str, *addresses: str) -> None:
        """Write the file of a backend."""
        write_documents(self.server.plane.files / f"{name}.yaml", backend(name, addresses))

    def lag(self, value: float | str, key: str = LAG) -> None:
        """Set the lag; a text is why it is unknown."""
        replace_file(self.folder / "lag.json", json.dumps({key: value}))

    async def gateway(self) -> Json:
        """The gateway, {} while it is not there."""
        return await self.server.plane.gateway("shop", "edge")

    async def route(self, name: str = "orders") -> Json:
        """One route, {} while it is not there."""
        return next((each for each in (await self.gateway()).get("routes", []) if each["name"] == name), {})

    async def condition(self, kind: str) -> Json:
        """One condition, {} while it is not there."""
        conditions = (await self.gateway()).get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == kind), {})

    async def decided(self, decision: str, **fields: Any) -> Json:
        """Wait until the route `orders` is decided so, with these fields, too."""

        async def probe() -> Json | None:
            route = await self.route()
            wanted = {"decision": decision, **fields}
            return route if {key: route.get(key) for key in wanted} == wanted else None

        return await until(probe, within=5 * SLACK, what=f"{decision} {fields}", interval=0.03)

    async def said(self, kind: str, status: str, message: str = "") -> Json:
        """Wait until a condition has this status, and this in its message."""

        async def probe() -> Json | None:
            found = await self.condition(kind)
            return found if found.get("status") == status and message in found["message"] else None

        return await until(probe, within=5 * SLACK, what=f"{kind} {status} {message}", interval=0.03)

    async def stored(self, decision: str) -> None:
        """Wait until that decision is on disk."""
        file = self.state / "gateways" / "decisions.json"

        async def probe() -> bool:
            written = await asyncio.to_thread(file.read_text) if file.exists() else ""
            return f'"choice":"{decision}"' in written

        await until(probe, within=5 * SLACK, what=f"{decision} on disk", interval=0.03)

    async def degradations(self) -> list[Json]:
        """The audit entries about decisions, oldest first."""
        entries = (await self.server.get("/v1/audit?limit=1000"))["entries"]
        return [each for each in reversed(entries) if each["action"] == "degradation"]

    async def clusters(self) -> set[str]:
        """The clusters that the routes which are served lead to."""
        group = await self.server.get("/v1/groups/default")
        version = await self.server.get(f"/v1/groups/default/versions/{group['seq']}")
        routes = [
            route
            for each in version["resources"]
            if each["type"] == "rds"
            for host in each["resource"]["virtual_hosts"]
            for route in host["routes"]
        ]
        return {route["route"]["cluster"] for route in routes if "route" in route}

    async def ask(self, *path: str) -> Json:
        """Ask the API in the way of the command line."""
        answer: Json = json.loads(await asyncio.to_thread(Client(Access(self.server.plane.admin)).get, *path))
        return answer


@asynccontextmanager
async def shop(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, observed: bool = True, **settings: Any
) -> AsyncIterator[Shop]:
    """Run one with both backends up and a lag of 0; without `observed` nobody can be asked for lag."""
    site = planted_observer.install(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    (folder / "lag.json").write_text(json.dumps({LAG: 0}))
    observers = {"planted": {"path": str(folder / "lag.json")}} if observed else {}
    more = {"state_dir": str(folder / "state"), "observers": observers, **settings}
    async with restartable(folder, more) as server:
        found = Shop(server, folder)
        found.serve("orders", "10.0.0.1")
        found.serve("orders-lite", "10.0.0.2")
        found.declare(gateway())
        await found.decided("primary")
        yield found

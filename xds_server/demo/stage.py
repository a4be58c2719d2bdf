"""Set up the demo's processes, and take all of them down again: Kafka and its clients, Tidegate, Envoys, backends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode
from xds_server.demo.control_plane import ControlPlane, Json
from xds_server.demo.envoys import Envoy, find_envoy
from xds_server.demo.kafka import MockBroker, Orders
from xds_server.demo.scene import GATEWAY, LISTENER, LITE, NAMESPACE, Scene

INTERVAL = 2.0
"""Seconds between two samples of the lag."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that runs, once both Envoys serve. `urls` is where each Envoy takes requests, by node."""

    plane: ControlPlane
    envoys: Sequence[Envoy]
    broker: MockBroker
    orders: Orders
    scene: Scene
    urls: dict[str, str]

    def addresses(self) -> dict[str, str]:
        """The URLs that are worth opening, by what they are."""
        pages = {"gateway": f"gateways/{NAMESPACE}/{GATEWAY}", "lag": "observers", "groups": "groups", "nodes": "nodes"}
        shown = {name: f"{self.plane.admin}/v1/{path}" for name, path in pages.items()}
        shown |= {f"requests through {node}": url for node, url in self.urls.items()}
        return shown | {f"admin of {envoy.node}": envoy.admin for envoy in self.envoys}


@asynccontextmanager
async def open_stage(folder: Path, admin_port: int = 0) -> AsyncIterator[Stage]:
    """Start everything in `folder` and yield once both Envoys have their first configuration.

    Raises EnvoyMissingError, BootstrapMissingError, ProcessEndedError and TimeoutError.
    """
    command = find_envoy()
    async with AsyncExitStack() as stack:
        first, second, lite = [
            await stack.enter_async_context(Backend(name)) for name in ("checkout", "checkout-v2", LITE)
        ]
        broker = await stack.enter_async_context(MockBroker(folder))
        orders = await stack.enter_async_context(Orders(folder, broker.bootstrap))
        plane = ControlPlane(
            folder, admin_port=admin_port, settings={"observers": {"kafka": sampling(broker.bootstrap)}}
        )
        scene = Scene(plane.files, (first, second), lite)
        scene.write()
        stack.push_async_callback(plane.stop)
        await plane.start()
        envoys = [Envoy(folder, f"envoy-{mode}", mode, plane.xds, command=command) for mode in (Mode.SOTW, Mode.DELTA)]
        for envoy in envoys:
            stack.push_async_callback(envoy.stop)
            await envoy.start()
        urls = {envoy.node: f"http://{await envoy.listener(LISTENER)}/" for envoy in envoys}
        await plane.programmed(nodes=len(envoys))
        yield Stage(plane, envoys, broker, orders, scene, urls)


def sampling(bootstrap: str) -> Json:
    """The settings `observers.kafka` for one cluster at `bootstrap`."""
    return {
        "clusters": {"default": {"bootstrap": bootstrap}},
        "interval": f"{INTERVAL:g}s",
        "timeout": "1s",
        "ttl": "8s",
        "breaker": {"failures": 3, "reset": "4s"},
    }

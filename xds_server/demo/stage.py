"""Set up the demo's processes, and take all of them down again: Tidegate, two Envoys, two backends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.envoys import Envoy, find_envoy
from xds_server.demo.scene import LISTENER, Scene


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that runs, once both Envoys serve. `urls` is where each Envoy takes requests, by node."""

    plane: ControlPlane
    envoys: Sequence[Envoy]
    scene: Scene
    urls: dict[str, str]

    def addresses(self) -> dict[str, str]:
        """The URLs that are worth opening, by what they are."""
        shown = {"groups": f"{self.plane.admin}/v1/groups", "nodes": f"{self.plane.admin}/v1/nodes"}
        shown |= {f"requests through {node}": url for node, url in self.urls.items()}
        return shown | {f"admin of {envoy.node}": envoy.admin for envoy in self.envoys}


@asynccontextmanager
async def open_stage(folder: Path, admin_port: int = 0) -> AsyncIterator[Stage]:
    """Start everything in `folder` and yield once both Envoys have their first configuration.

    Raises EnvoyMissingError, BootstrapMissingError, ProcessEndedError and TimeoutError.
    """
    command = find_envoy()
    async with AsyncExitStack() as stack:
        backends = [await stack.enter_async_context(Backend(name)) for name in ("blue", "green")]
        plane = ControlPlane(folder, admin_port=admin_port)
        scene = Scene(plane.files / "world.yaml", backends)
        scene.write()
        stack.push_async_callback(plane.stop)
        await plane.start()
        envoys = [Envoy(folder, f"envoy-{mode}", mode, plane.xds, command=command) for mode in (Mode.SOTW, Mode.DELTA)]
        for envoy in envoys:
            stack.push_async_callback(envoy.stop)
            await envoy.start()
        urls = {envoy.node: f"http://{await envoy.listener(LISTENER)}/" for envoy in envoys}
        await plane.programmed(nodes=len(envoys))
        yield Stage(plane, envoys, scene, urls)

"""A Tidegate that serves manifests, and an Envoy that follows it."""

from __future__ import annotations

from tests.support.fleet import Fleet
from tests.support.manifests import HTTP_NAME
from xds_server.demo.bootstrap import Mode
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.envoys import Envoy
from xds_server.demo.manifests import Manifest
from xds_server.demo.yaml_files import write_documents


def declare(plane: ControlPlane, *manifests: Manifest, file: str = "world.yaml") -> None:
    """Write these into one file."""
    write_documents(plane.files / file, list(manifests))


async def started(fleet: Fleet, plane: ControlPlane) -> str:
    """Start all; where the gateway takes requests."""
    await plane.start()
    return await url_of(await fleet.envoy(Mode.DELTA, plane.xds))


async def url_of(envoy: Envoy, name: str = HTTP_NAME) -> str:
    """Where a listener takes requests, once it does."""
    return f"http://{await envoy.listener(name)}"

"""A Tidegate that serves manifests, and an Envoy that follows it."""

from __future__ import annotations

import asyncio

from tests.support.fleet import Fleet
from tests.support.manifests import HTTP_NAME
from xds_server.demo.bootstrap import Mode
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.envoys import Envoy
from xds_server.demo.manifests import Manifest
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import write_documents


def declare(plane: ControlPlane, *manifests: Manifest, file: str = "world.yaml") -> None:
    """Write these into one file."""
    write_documents(plane.files / file, list(manifests))


async def started(fleet: Fleet, plane: ControlPlane) -> str:
    """Start all; where the gateway takes requests."""
    await plane.start()
    return await url_of(await fleet.envoy(Mode.DELTA, plane.xds))


async def url_of(envoy: Envoy, name: str = HTTP_NAME) -> str:
    """Where a listener takes requests, once it does: Envoy tells its address a moment before."""
    address = await envoy.listener(name)
    host, _, port = address.rpartition(":")

    async def is_open() -> bool:
        try:
            _, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            return False
        writer.close()
        return True

    await until(is_open, within=10, what=f"{envoy.node} takes connections at {address}")
    return f"http://{address}"

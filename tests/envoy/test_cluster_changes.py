"""A cluster changes and its endpoints do not: the change is active at once and costs no request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificates import Authority
from tests.support.fleet import SLACK, Fleet
from tests.support.publishers import LISTENER, FilePublisher, site
from xds_server.demo.backends import Backend
from xds_server.demo.envoys import Envoy
from xds_server.demo.load import Load
from xds_server.demo.polling import until
from xds_server.demo.world import cluster, transport_socket
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

CHANGES = 10


def timeout_of(number: int) -> dict[str, Any]:
    return {"connect_timeout": f"{1 + number}s"}


def tls_of(number: int) -> dict[str, Any]:
    return {"transport_socket": transport_socket("UpstreamTlsContext", {"sni": f"name-{number}.example"})}


@pytest.mark.parametrize("fields", [timeout_of, tls_of])
async def test_k17_a_changed_cluster_is_active_at_once(
    fleet: Fleet, tmp_path: Path, fields: Callable[[int], dict[str, Any]]
) -> None:
    authority = Authority()
    context = authority.server_context(authority.issue("backend"), tmp_path) if fields is tls_of else None
    plane = fleet.tidegate()
    await plane.start()
    envoys = await fleet.both(plane.xds)
    async with Backend("blue", context) as backend:
        world = site("x", backend)
        world[0] = cluster("x", **fields(0))
        await FilePublisher(plane, nodes=2).publish(world)
        took = []
        async with Load(await fleet.urls(LISTENER), rate=100) as load:
            for number in range(1, CHANGES + 1):
                started = time.monotonic()
                world[0] = cluster("x", **fields(number))
                write_documents(plane.files / "world.yaml", world)
                await asyncio.gather(*(_wait_for(envoy, fields(number)) for envoy in envoys))
                took.append(time.monotonic() - started)
    assert load.failed == 0, load.failures()
    assert max(took) < 1 * SLACK


async def _wait_for(envoy: Envoy, fields: dict[str, Any]) -> None:
    await until(partial(_has, envoy, fields), within=20, what=f"{envoy.node} has {fields}", interval=0.02)


async def _has(envoy: Envoy, fields: dict[str, Any]) -> bool:
    active = await envoy.dump("dynamic_active_clusters")
    return any(entry["cluster"].items() >= fields.items() for entry in active)

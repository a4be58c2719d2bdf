"""K20: Tidegate starts again and again with half-filled caches, under load: nothing is taken from Envoys."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import aiohttp
import pytest

from tests.support.certificates import Authority
from tests.support.counts import long_or_short
from tests.support.fleet import SLACK, Fleet
from tests.support.kube import Kube
from tests.support.kube_proxy import Asked, KubeProxy
from tests.support.kube_shop import install
from tests.support.kube_world import KubeWorld, reachable, settings
from tests.support.manifests import tls_secret
from xds_server.demo.backends import Backend
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.envoys import Envoy
from xds_server.demo.load import Load
from xds_server.demo.manifests import HTTP, Manifest, listener_name
from xds_server.demo.polling import until

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(600)]

GATEWAYS, ROUTES = 10, 5
LATE = 5.0
"""Seconds by which the first lists of slices and Secrets come late."""

REMOVED = "^(listener_manager.listener_removed|cluster_manager.cluster_removed)$"


def _manifests(world: KubeWorld, authority: Authority, port: int) -> list[Manifest]:
    """Ten gateways of five routes each, with a certificate each."""
    made: list[Manifest] = []
    for number in range(GATEWAYS):
        names = [f"s{number}-{route}" for route in range(ROUTES)]
        secret = tls_secret(f"tls-{number}", authority.issue(f"g{number}.example"))
        secret["metadata"]["namespace"] = world.namespace
        https = {
            "name": "https",
            "address": "127.0.0.1",
            "port": 0,
            "protocol": "HTTPS",
            "tls": {"secretName": f"tls-{number}"},
        }
        made += [secret, world.gateway(f"g{number}", *names, listeners=[HTTP, https])]
        made += [each for name in names for each in world.backend(name, address=reachable(), port=port)]
    return made


async def _urls(world: KubeWorld, envoy: Envoy, scheme: str) -> dict[str, str]:
    """Where each route of an Envoy is asked."""
    found: dict[str, str] = {}
    for number in range(GATEWAYS):
        name = listener_name(f"g{number}", world.namespace)
        name = f"https{name.removeprefix('http').removesuffix('http')}https" if scheme == "https" else name
        for route in range(ROUTES):
            target = f"{envoy.node} {scheme} {number}-{route}"
            found[target] = f"{scheme}://{await envoy.listener(name)}/s{number}-{route}"
    return found


async def _is_connected(plane: ControlPlane, nodes: int) -> bool:
    try:
        return len((await plane.get("/v1/nodes?connected=true"))["nodes"]) == nodes
    except (aiohttp.ClientError, KeyError):
        return False


async def _restart(plane: ControlPlane, nodes: int) -> None:
    """Kill it and start it; nothing is sent, and it is not ready, before the late lists are there."""
    await plane.child.kill()
    began = time.monotonic()
    await plane.start(ready=False, within=20 * SLACK)
    await until(partial(_is_connected, plane, nodes), within=30 * SLACK, what="Envoys are back")
    seen = 0
    while not await plane.ready():
        seen += 1
        # It may have become ready between the two questions; then the order of the two is right.
        assert await plane.sequence() == 0 or await plane.ready()
        assert time.monotonic() - began < 40 * SLACK
        await asyncio.sleep(0.1)
    assert time.monotonic() - began >= LATE
    assert seen or time.monotonic() - began > LATE + 1, "its streams were there before it was ready"
    await plane.programmed(nodes=nodes, within=20 * SLACK)


async def test_k20_restarts_under_load(kube: Kube, namespace: str, proxy: KubeProxy, fleet: Fleet) -> None:
    await asyncio.to_thread(install, kube)
    world, authority = KubeWorld(kube, namespace), Authority()
    config = kube.write_kubeconfig(namespace, user={}, server=proxy.url)
    async with Backend("blue", host=reachable()) as blue:
        await world.put(*_manifests(world, authority, blue.port))
        plane = fleet.tidegate(settings(config, namespace))
        await plane.start(within=20 * SLACK)
        envoys = await fleet.both(plane.xds)
        await plane.programmed(nodes=2, within=20 * SLACK)
        plain = [await _urls(world, envoy, "http") for envoy in envoys]
        secure = [await _urls(world, envoy, "https") for envoy in envoys]
        proxy.late = _late
        async with (
            Load(plain[0] | plain[1], rate=2, workers=1) as load,
            Load(secure[0] | secure[1], rate=1, workers=1, tls=authority.client_context()) as tls,
        ):
            for _ in range(long_or_short(10, 2)):
                await _restart(plane, len(envoys))
    assert load.failed == 0, load.failures()
    assert tls.failed == 0, tls.failures()
    assert all(tally.sent for each in (load, tls) for tally in each.tallies.values())
    for envoy in envoys:
        assert set((await envoy.stats(REMOVED)).values()) == {0}


def _late(asked: Asked) -> float:
    return LATE if asked.is_list and asked.path.endswith(("/endpointslices", "/secrets")) else 0.0

"""The API server is away, comes back, and loses a kind, under real Envoys: they keep what they have, and so do new ones."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import tarfile
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from tests.support import granted
from tests.support.certificates import Authority
from tests.support.fleet import SLACK, Fleet
from tests.support.kube import Kube, StartKube
from tests.support.kube_shop import install
from tests.support.kube_world import KubeWorld, metric, reachable, settings, source
from tests.support.manifests import tls_secret
from tests.support.watching import answers
from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.load import Load
from xds_server.demo.manifests import HTTP, listener_name
from xds_server.demo.polling import until

UP = 'tidegate_source_up{source="kubernetes"}'
HTTPS = {
    "name": "https",
    "address": "127.0.0.1",
    "port": 0,
    "protocol": "HTTPS",
    "tls": {"secretName": "shop-tls"},
}
REMOVED = "^(listener_manager.listener_removed|cluster_manager.cluster_removed)$"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def backends() -> AsyncIterator[list[Backend]]:
    async with Backend("blue", host=reachable()) as blue, Backend("green", host=reachable()) as green:
        yield [blue, green]


async def _is_down(plane: ControlPlane) -> bool:
    return await metric(plane, UP) == 0


async def _is_up(plane: ControlPlane) -> bool:
    return await metric(plane, UP) == 1


async def _new_envoy_serves(fleet: Fleet, plane: ControlPlane, world: KubeWorld, name: str, body: str) -> None:
    envoy = await fleet.envoy(Mode.SOTW, plane.xds, node=name)
    url = f"http://{await envoy.listener(listener_name('web', world.namespace))}/shop"
    await until(partial(answers, url, 200, body), within=10 * SLACK, what=f"{name} is answered by {body}")


@pytest.mark.envoy
async def test_the_api_server_is_away(
    own_kube: StartKube, fleet: Fleet, backends: list[Backend], tmp_path: Path
) -> None:
    kube = await asyncio.to_thread(own_kube)
    world, authority = await _installed(kube, backends[0]), Authority()
    secret = tls_secret("shop-tls", authority.issue("shop.example"))
    await world.put({**secret, "metadata": {"name": "shop-tls", "namespace": "shop"}})
    await world.put(world.gateway("secure", "shop", listeners=[HTTPS]))
    plane = fleet.tidegate(settings(granted.kubeconfig(kube, "shop"), "shop", state_dir=str(tmp_path / "state")))
    await plane.start(within=20 * SLACK)
    envoy = await fleet.envoy(Mode.DELTA, plane.xds)
    url = f"http://{await envoy.listener(listener_name('web', 'shop'))}/shop"
    secure = f"https://{await envoy.listener('https-shop-secure-https')}/shop"
    async with (
        Load({"all": url}, rate=50) as load,
        Load({"all": secure}, rate=20, fresh=True, tls=authority.client_context()) as tls,
    ):
        version = (await plane.programmed(within=10 * SLACK))["version"]
        await asyncio.to_thread(kube.kill)
        await until(partial(_is_down, plane), within=20 * SLACK, what="the outage is told")
        assert (await source(plane))["error"]["reason"] == "NotReadable"
        assert await plane.ready()
        await _new_envoy_serves(fleet, plane, world, "during", "blue")
        await plane.child.kill()
        await plane.start(within=20 * SLACK)
        assert (await plane.group())["version"] == version
        await _new_envoy_serves(fleet, plane, world, "after-a-start", "blue")
        await asyncio.to_thread(kube.start)
        await until(partial(_is_up, plane), within=60 * SLACK, what="the cluster is read again")
        assert (await plane.group())["version"] == version
        await world.put(*world.backend("shop", address=reachable(), port=backends[1].port))
        await until(partial(answers, url, 200, "green"), within=10 * SLACK, what="the change is served")
    assert load.failed == 0, load.failures()
    assert tls.failed == 0, tls.failures()
    assert set((await envoy.stats(REMOVED)).values()) == {0}


@pytest.mark.envoy
async def test_the_api_server_is_restarted(own_kube: StartKube, fleet: Fleet, backends: list[Backend]) -> None:
    kube = await asyncio.to_thread(own_kube)
    world = await _installed(kube, backends[0])
    plane = fleet.tidegate(settings(granted.kubeconfig(kube, "shop"), "shop"))
    await plane.start(within=20 * SLACK)
    envoy = await fleet.envoy(Mode.DELTA, plane.xds)
    url = f"http://{await envoy.listener(listener_name('web', 'shop'))}/shop"
    async with Load({"all": url}, rate=50) as load:
        for number in (1, 0):
            await asyncio.to_thread(kube.restart)
            await world.put(*world.backend("shop", address=reachable(), port=backends[number].port))
            name = backends[number].name
            await until(partial(answers, url, 200, name), within=20 * SLACK, what=f"answered by {name}")
    assert load.failed == 0, load.failures()
    assert set((await envoy.stats(REMOVED)).values()) == {0}


async def test_k44_the_kind_is_installed_later_and_removed(own_kube: StartKube, fleet: Fleet) -> None:
    kube = await asyncio.to_thread(own_kube)
    kube.client.namespace("shop")
    world = KubeWorld(kube, "shop")
    await world.put(*world.backend("a"))
    plane = fleet.tidegate(settings(granted.kubeconfig(kube, "shop"), "shop"))
    await plane.start(within=10 * SLACK)
    assert (await source(plane))["error"] is None
    assert await metric(plane, UP) == 1
    for _ in range(2):  # the second time it is made again
        definition = await asyncio.to_thread(install, kube)
        await world.put(world.gateway("web", "a"))
        began = time.monotonic()
        await world.served(plane, within=60)
        assert time.monotonic() - began < 60
        assert (await plane.group())["counts"]["lds"] == 1
        await world.drop(definition)
        await until(partial(_counts_no_listener, plane), within=10 * SLACK, what="what was deleted is gone")
        await until(partial(world.is_gone, definition), within=20 * SLACK, what="the kind is gone")
    missing = [line for line in plane.child.tail(500).splitlines() if "has no such kind" in line]
    assert 1 <= len(missing) <= 3, missing


async def _counts_no_listener(plane: ControlPlane) -> bool:
    return bool((await plane.group())["counts"]["lds"] == 0)


async def _installed(kube: Kube, backend: Backend) -> KubeWorld:
    """A gateway `web` that leads to a backend."""
    await asyncio.to_thread(install, kube)
    kube.client.namespace("shop")
    world = KubeWorld(kube, "shop")
    await world.put(*world.backend("shop", address=reachable(), port=backend.port))
    await world.put(world.gateway("web", "shop", listeners=[HTTP]))
    return world


async def test_an_archive_has_the_objects_and_no_secret(kube: Kube, namespace: str, fleet: Fleet) -> None:
    await asyncio.to_thread(install, kube)
    world, pair = KubeWorld(kube, namespace), Authority().issue("shop.example")
    secret = tls_secret("shop-tls", pair)
    await world.put({**secret, "metadata": {"name": "shop-tls", "namespace": namespace}})
    await world.put(*world.backend("shop"), world.gateway("web", "shop", listeners=[HTTPS]))
    plane = fleet.tidegate(settings(granted.kubeconfig(kube, namespace), namespace))
    await plane.start(within=20 * SLACK)
    async with aiohttp.ClientSession() as session, session.get(f"{plane.admin}/v1/export?group=default") as answer:
        body = await answer.read()
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        texts = {each.name: file.read().decode() for each in archive if (file := archive.extractfile(each))}
    objects = json.loads(texts["inputs.json"])["objects"]
    assert sorted(each["kind"] for each in objects) == ["DynamicGateway", "EndpointSlice", "Secret", "Service"]
    assert next(each for each in objects if each["kind"] == "Secret")["data"].keys() == {"tls.crt", "tls.key"}
    key = base64.b64encode(pair.key.encode()).decode()
    assert not any(pair.key in text or key in text for text in texts.values())

"""Watches that fail in every way, under a whole Tidegate: what is served is a function of what the API server lists."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.support.counts import long_or_short
from tests.support.fleet import SLACK
from tests.support.kube import Kube
from tests.support.kube_proxy import Asked, KubeProxy, each_once, error_event, refusal
from tests.support.kube_shop import install
from tests.support.kube_world import KubeWorld, counts, metric, settings, source
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.manifests import Manifest
from xds_server.demo.polling import until

GATEWAYS = "dynamicgateways"
UP = 'tidegate_source_up{source="kubernetes"}'

pytestmark = pytest.mark.timeout(240)


class Scene:
    """A world of three gateways and four services, and a Tidegate that reads it through a proxy, and never leads."""

    def __init__(self, world: KubeWorld, proxy: KubeProxy, folder: Path) -> None:
        self.world = world
        self.proxy = proxy
        self.folder = folder
        self.plane: ControlPlane
        self.gateways = [world.gateway("r1", "a"), world.gateway("r2", "b"), world.gateway("r3", "c")]

    async def start(self, stack: AsyncExitStack, user: Manifest | None = None, **more: Any) -> ControlPlane:
        world = self.world
        await asyncio.to_thread(install, world.kube)
        await world.put(*(each for name in "abcd" for each in world.backend(name)), *self.gateways)
        config = world.kube.write_kubeconfig(world.namespace, user=user or {}, server=self.proxy.url)
        sections = settings(config, world.namespace, kubernetes=await world.led_elsewhere() | more)
        self.plane = ControlPlane(self.folder, settings=sections)
        stack.push_async_callback(self.plane.stop)
        await self.plane.start(within=20 * SLACK)
        await world.served(self.plane)
        return self.plane

    async def fewest(self, versions: int) -> int:
        """The fewest listeners in the last so many versions."""
        return min((await counts(self.plane, "lds"))[:versions])


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as found:
        yield found


@pytest.fixture
def scene(kube: Kube, namespace: str, proxy: KubeProxy, tmp_path: Path) -> Scene:
    return Scene(KubeWorld(kube, namespace), proxy, tmp_path)


def _watches(asked: Asked) -> bool:
    """A watch of gateways from a version that was seen."""
    return asked.is_watch and not asked.is_list and asked.path.endswith(GATEWAYS)


def _shut(asked: Asked) -> web.Response | None:
    return refusal(503, "ServiceUnavailable") if asked.is_watch and asked.path.endswith(GATEWAYS) else None


@pytest.mark.parametrize("gone", [refusal, error_event], ids=["status", "event"])
async def test_k38_a_watch_that_is_too_old(
    scene: Scene, stack: AsyncExitStack, gone: Callable[[int, str], web.Response]
) -> None:
    plane, world = await scene.start(stack), scene.world
    before, listed = await plane.sequence(), len(scene.proxy.lists())
    with scene.proxy.answering(each_once([gone(410, "Expired")], _watches)):
        with scene.proxy.answering(_shut):
            scene.proxy.cut(GATEWAYS)
            await world.drop(scene.gateways[0])
            await world.put(world.gateway("r2", "d"), world.gateway("r4", "a"))
        await world.served(plane, within=30)
    assert len(scene.proxy.lists()) - listed <= 8
    # Of three gateways one went and one came; without those that stayed there would have been fewer.
    assert await scene.fewest(await plane.sequence() - before) >= 2


async def test_k40_deletes_that_were_missed(scene: Scene, stack: AsyncExitStack) -> None:
    plane, world = await scene.start(stack), scene.world
    noise = asyncio.create_task(_noise(world, long_or_short(2000, 400)))
    with scene.proxy.answering(_shut):
        scene.proxy.cut(GATEWAYS)
        short_lived = world.gateway("short", "a")
        await world.drop(scene.gateways[0], scene.gateways[1])
        await world.put(world.gateway("r2", "d"), short_lived)
        await world.drop(short_lived)
        await world.put(world.gateway("r4", "c"))

    async def back() -> bool:
        return bool(scene.proxy.watches(GATEWAYS))

    await until(back, within=20 * SLACK, what="the watch is open again")
    await noise
    await world.served(plane, within=3)
    served = str((await plane.get(f"/v1/groups/default/versions/{await plane.sequence()}"))["resources"])
    assert "r4" in served
    assert "r1" not in served
    assert "short" not in served


async def _noise(world: KubeWorld, changes: int) -> None:
    for number in range(changes):
        await world.put(world.backend("noise", port=1000 + number)[1])


async def test_k41_a_watch_that_is_silent_for_ever(scene: Scene, stack: AsyncExitStack) -> None:
    timeout = long_or_short(30, 8)
    plane, world = await scene.start(stack, watch_timeout=timeout), scene.world
    scene.proxy.freeze(GATEWAYS)
    began = time.monotonic()
    await world.put(world.gateway("r2", "d"))
    wanted, downs = await world.expected(), set[str]()
    while (await plane.group())["version"] != wanted:
        if await metric(plane, UP) == 0 and (error := (await source(plane))["error"]):
            downs.add(error["message"])
        assert time.monotonic() - began < 2 * timeout + 6, await source(plane)
        await asyncio.sleep(0.1)
    assert any(GATEWAYS in each for each in downs), "the silence is told before it is over"
    assert await scene.fewest(100) == 3


async def test_k43_a_token_that_is_replaced(scene: Scene, stack: AsyncExitStack) -> None:
    token = scene.folder / "token"
    token.write_text("token-first")
    plane, world = await scene.start(stack, {"tokenFile": str(token)}), scene.world
    for name in "abc":
        draft = scene.folder / "draft"
        draft.write_text(f"token-{name}")
        draft.replace(token)
        with scene.proxy.answering(partial(_refuse_others, f"token-{name}")):
            scene.proxy.cut()
            await world.put(world.gateway("r2", name))
            assert await world.served(plane, within=60) < 70
    assert await scene.fewest(100) == 3
    assert plane.child.returncode is None


def _refuse_others(token: str, asked: Asked) -> web.Response | None:
    return refusal(401, "Unauthorized") if asked.token != token else None

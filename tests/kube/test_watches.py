"""Watches that fail in every way, under a whole Tidegate: what is served is a function of what the API server lists."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.counts import long_or_short
from tests.support.fleet import SLACK
from tests.support.kube import Kube
from tests.support.kube_proxy import KubeProxy
from tests.support.kube_world import KubeWorld, counts, definition, metric, settings, source
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.manifests import Manifest
from xds_server.demo.polling import until

GATEWAYS = "dynamicgateways"
UP = 'tidegate_source_up{source="kubernetes"}'

pytestmark = pytest.mark.timeout(240)


class Scene:
    """A world of three gateways and four services, and a Tidegate that reads it through a proxy."""

    def __init__(self, kube: Kube, namespace: str, proxy: KubeProxy, folder: Path) -> None:
        self.world = KubeWorld(kube, namespace)
        self.proxy = proxy
        self.folder = folder
        self.plane: ControlPlane
        self.gateways: list[Manifest] = [
            self.world.gateway("r1", "a"),
            self.world.gateway("r2", "b"),
            self.world.gateway("r3", "c"),
        ]

    async def start(self, stack: AsyncExitStack, kubeconfig: Path | None = None, **more: Any) -> ControlPlane:
        world = self.world
        await asyncio.to_thread(world.kube.apply, [definition()])
        await world.put(*(each for name in "abcd" for each in world.backend(name)), *self.gateways)
        found = settings(kubeconfig or self.proxy.kubeconfig(world.namespace), world.namespace, **more)
        self.plane = ControlPlane(self.folder, settings=found)
        stack.push_async_callback(self.plane.stop)
        await self.plane.start(within=20 * SLACK)
        await world.served(self.plane)
        return self.plane

    async def change(self) -> None:
        """Delete one gateway, change one, add one."""
        world = self.world
        await world.drop(self.gateways[0])
        await world.put(world.gateway("r2", "d"), world.gateway("r4", "a"))


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as found:
        yield found


@pytest.fixture
async def scene(kube: Kube, namespace: str, tmp_path: Path) -> AsyncIterator[Scene]:
    async with KubeProxy(kube) as proxy:
        yield Scene(kube, namespace, proxy, tmp_path)


@pytest.mark.parametrize("shape", ["http", "event", "whole"])
async def test_k38_a_watch_that_is_too_old(scene: Scene, stack: AsyncExitStack, shape: str) -> None:
    plane = await scene.start(stack)
    before = await plane.sequence()
    listed = scene.proxy.seen.lists.total()
    scene.proxy.gone[GATEWAYS] = [shape]
    scene.proxy.shut.add(GATEWAYS)
    scene.proxy.cut(GATEWAYS)
    await scene.change()
    scene.proxy.shut.clear()
    await scene.world.served(plane, within=30)
    assert not scene.proxy.gone[GATEWAYS]
    assert scene.proxy.seen.lists.total() - listed <= 8
    assert await plane.sequence() > before
    # Of three gateways one went and one came; without the others in between there would have been fewer.
    assert min((await counts(plane, "lds"))[: -before or None]) >= 2


async def test_k38_again_and_again_after_each_list(scene: Scene, stack: AsyncExitStack) -> None:
    plane = await scene.start(stack)
    listed = scene.proxy.seen.lists.total()
    times = long_or_short(5, 2)
    scene.proxy.gone[GATEWAYS] = ["event"] * (times + 1)
    began = time.monotonic()
    scene.proxy.cut(GATEWAYS)
    await scene.change()
    await scene.world.served(plane, within=60)

    async def over() -> bool:
        return not scene.proxy.gone[GATEWAYS]

    await until(over, within=60 * SLACK, what="all watches were refused")
    await scene.world.served(plane)
    lasted = time.monotonic() - began
    assert scene.proxy.seen.lists.total() - listed <= max(8, 8 * lasted / 30)
    assert min(await counts(plane, "lds")) >= 2


async def test_k40_deletes_that_were_missed(scene: Scene, stack: AsyncExitStack) -> None:
    plane, world = await scene.start(stack), scene.world
    noise = asyncio.create_task(_noise(world, long_or_short(2000, 400)))
    scene.proxy.shut.add(GATEWAYS)
    scene.proxy.cut(GATEWAYS)
    short_lived = world.gateway("short", "a")
    await world.drop(scene.gateways[0], scene.gateways[1])
    await world.put(world.gateway("r2", "d"), short_lived)
    await world.drop(short_lived)
    await world.put(world.gateway("r4", "c"))
    watches = scene.proxy.seen.watches[GATEWAYS]
    scene.proxy.shut.clear()

    async def back() -> bool:
        return scene.proxy.seen.watches[GATEWAYS] > watches

    await until(back, within=20 * SLACK, what="the watch is opened again")
    await noise
    await world.served(plane, within=3)
    served = await plane.get(f"/v1/groups/default/versions/{await plane.sequence()}")
    text = str(served["resources"])
    assert "r4" in text
    assert "r1" not in text
    assert "short" not in text


async def _noise(world: KubeWorld, changes: int) -> None:
    for number in range(changes):
        await world.put(world.backend("noise", port=1000 + number)[1])


async def test_k41_a_watch_that_is_silent_for_ever(scene: Scene, stack: AsyncExitStack) -> None:
    timeout = long_or_short(30, 8)
    plane = await scene.start(stack, kubernetes={"watch_timeout": timeout})
    scene.proxy.frozen.add(GATEWAYS)
    await asyncio.sleep(0.5)
    began = time.monotonic()
    await scene.world.put(scene.world.gateway("r2", "d"))
    wanted = await scene.world.expected()
    downs = 0
    while (await plane.group())["version"] != wanted:
        if await metric(plane, UP) == 0:
            downs += 1
            error = (await source(plane))["error"]
            assert error is None or "dynamicgateways" in error["message"]
            scene.proxy.frozen.clear()
        assert time.monotonic() - began < timeout + 30, await source(plane)
        await asyncio.sleep(0.1)
    assert downs, "the silence is told before it is over"
    assert time.monotonic() - began < 2 * timeout + 6
    assert len((await plane.get("/v1/groups/default/versions"))["versions"]) >= 2
    assert min(await counts(plane, "lds")) == 3


async def test_k43_a_token_that_is_replaced(scene: Scene, stack: AsyncExitStack) -> None:
    token = scene.folder / "token"
    token.write_text("first")
    scene.proxy.token = "first"
    config = scene.proxy.kubeconfig("rotating", tokenFile=str(token))
    plane = await scene.start(stack, config)
    for number in range(3):
        draft = scene.folder / "draft"
        draft.write_text(f"token-{number}")
        draft.replace(token)
        scene.proxy.token = f"token-{number}"
        scene.proxy.cut()
        await scene.world.put(scene.world.gateway("r2", "abcd"[number]))
        assert await scene.world.served(plane, within=60) < 70
    assert min(await counts(plane, "lds")) == 3
    assert plane.child.returncode is None

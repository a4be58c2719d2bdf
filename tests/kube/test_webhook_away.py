"""The conversion webhook is away: what is served follows changes, what can't be written is told, and is written afterwards.

The API server converts `managedFields` at each server-side apply, so a status waits for the webhook where somebody has
written the object in v1beta1. Tidegate itself reads v1alpha1, and needs no conversion.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from k8s_source.kinds.conversion import V1BETA1
from k8s_source.operator import LIMITS
from tests.support.kube import StartKube
from tests.support.kube_client import Object, RefusedError
from tests.support.kube_shop import KIND, Shop, backend, condition, gateway, opened, until
from tests.support.kube_world import metric
from tests.support.webhook import Webhook, install, told
from xds_server.demo.control_plane import ControlPlane

EDITOR = "editor"
RETRIED = 'controller_runtime_reconcile_errors_total{controller="dynamicgateway"}'

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def shop(own_kube: StartKube, tmp_path: Path) -> AsyncIterator[tuple[Shop, Webhook]]:
    """An API server of the test's own with CRD and webhook, and a namespace in it."""
    kube = await asyncio.to_thread(own_kube)
    webhook = Webhook(tmp_path, await asyncio.to_thread(install, kube))
    try:
        await asyncio.to_thread(told, kube, webhook)
        async with opened(kube, kube.client.namespace("shop"), tmp_path) as found:
            await found.apply(*backend("shop"), *backend("shop", "lite", "10.0.0.2"))
            yield found, webhook
    finally:
        webhook.kill()


async def written_in_v1beta1(shop: Shop, name: str) -> None:
    """Have somebody write a gateway in the other version: `managedFields` say so from then on."""
    metadata = {"name": name, "namespace": shop.namespace, "labels": {"team": "a"}}
    body: Object = {"apiVersion": V1BETA1, "kind": KIND, "metadata": metadata}

    async def is_written() -> bool:
        try:
            await asyncio.to_thread(lambda: shop.kube.client.apply(body, manager=EDITOR))
        except RefusedError:  # the API server takes its time to know the webhook
            return False
        return True

    await until(is_written, 10, f"{name} is written in v1beta1")


async def force(plane: ControlPlane, route: str) -> None:
    """Have a route lead to its degrade backend: that changes what is served, and no object."""
    forced = {"route": route, "value": "forced", "reason": "a test"}
    async with aiohttp.request("PUT", f"{plane.admin}/v1/switches", json={"degradation": [forced]}) as answer:
        assert answer.status == 200, await answer.text()


def managers(body: Object) -> set[tuple[str, str]]:
    """Who has written an object, in which version."""
    return {(each["manager"], each["apiVersion"].partition("/")[2]) for each in body["metadata"]["managedFields"]}


def delays(plane: ControlPlane, name: str) -> list[float]:
    """After how many seconds it tries again what could not be converted of a gateway, as its log tells."""
    found = [json.loads(line) for line in plane.child.log.read_text().splitlines() if line.startswith("{")]
    why = "conversion webhook for gateway.tidegate.dev"
    told_of = [each for each in found if each["event"] == "reconcile_retried" and each["key"] == name]
    return [each["after_s"] for each in told_of if why in each["error"]]


def degradable(shop: Shop, name: str, port: int) -> Object:
    """A gateway whose route can lead to `lite` instead."""
    body = gateway(shop.namespace, name, port=port)
    body["spec"]["routes"][0]["degradeService"] = "lite"
    return body


async def is_degraded(plane: ControlPlane, shop: Shop) -> bool:
    """Whether the gateway `edge` leads to `lite`, and its Envoy has accepted that, as the admin API says."""
    found = (await plane.gateway(shop.namespace, "edge"))["status"]
    met = {each["type"]: each["status"] for each in found["conditions"]}
    return {met["Degraded"], met["Programmed"]} == {"True"}


async def told_again(shop: Shop, webhook: Webhook) -> Webhook:
    """Have the webhook back where it was, known to the API server."""
    again = Webhook(webhook.kubeconfig.parent, webhook.kubeconfig, port=webhook.port)
    await asyncio.to_thread(told, shop.kube, again)
    return again


async def test_status_waits_for_the_webhook_and_nothing_else_does(shop: tuple[Shop, Webhook]) -> None:
    world, webhook = shop
    plane = await world.plane(settings={"log": {"format": "json"}})
    stream = await world.envoy(plane, "envoy-0")
    stream.ask("eds", f"{world.namespace}/lite/80")
    for port, name in enumerate(("edge", "other"), 8080):
        await world.apply(degradable(world, name, port))
        await world.told(name, "Ready", "True")
        await written_in_v1beta1(world, name)
    before = await world.get("edge")
    assert (EDITOR, "v1beta1") in managers(before)
    webhook.kill()

    await force(plane, f"{world.namespace}/edge/all")
    await until(lambda: is_degraded(plane, world), 5, "it is served by the degrade backend")
    stream.skip()
    await world.apply(*backend(world.namespace, "lite", "10.0.0.3"))
    while b"10.0.0.3" not in (await stream.next("eds")).resources[f"{world.namespace}/lite/80"]:
        pass
    await world.delete(gateway(world.namespace, "other"))
    await world.gone("other")
    await world.apply(degradable(world, "newer", 8082))
    await world.told("newer", "Ready", "True")

    async def is_told() -> bool:
        return len(delays(plane, f"{world.namespace}/edge")) >= 5

    await until(is_told, 5, "the log has the object and the reason, each time")
    assert max(delays(plane, f"{world.namespace}/edge")) <= LIMITS.backoff.most
    assert condition(await world.get("edge"), "Degraded")["status"] != "True", "its status can't be written"
    assert await metric(plane, RETRIED) >= 5

    again = await told_again(world, webhook)
    try:
        after = await world.told("edge", "Degraded", "True", within=LIMITS.backoff.most)
        assert after["status"]["routes"][0]["backend"] == f"{world.namespace}/lite:80"
        assert managers(after) == managers(before), "what others have written stays theirs"
    finally:
        again.kill()

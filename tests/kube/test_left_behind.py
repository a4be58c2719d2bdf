"""What docs/kubernetes-status.md says of objects that the settings select no more: its commands find and free these, and no others."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.kube import StartKube
from tests.support.kube_client import Object
from tests.support.kube_shop import FINALIZER, GROUP_VERSION, KIND, Shop, backend, gateway, install, opened
from tests.support.kustomize import ROOT, typed

PAGE = ROOT / "docs" / "kubernetes-status.md"
SELECTED = "-A -l 'team!=web'"
FOREIGN = "other.example/keep"


@pytest.fixture
async def shop(own_kube: StartKube, tmp_path: Path) -> AsyncIterator[Shop]:
    """An API server of the test's own: the commands look into all namespaces."""
    kube = await asyncio.to_thread(own_kube)
    install(kube)
    async with opened(kube, kube.client.namespace("shop"), tmp_path) as found:
        await found.apply(*backend("shop"))
        yield found


def commands() -> list[str]:
    """Those of the section: to find them, to take the status away, to take the finalizer away."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("\n### Objects that the settings select no more\n")
    return re.findall(r"^    (kubectl .*)$", rest.partition("\n#")[0], re.MULTILINE)


async def type_in(shop: Shop, command: str) -> str:
    return await asyncio.to_thread(typed, command, shop.kube.kubeconfig)


def of_team(shop: Shop, name: str, team: str, *finalizers: str) -> Object:
    return gateway(shop.namespace, name, labels={"team": team}, finalizers=list(finalizers))


def held(body: Object) -> list[str]:
    finalizers: list[str] = body["metadata"].get("finalizers", [])
    return finalizers


async def test_what_the_label_selector_leaves_out_is_found_and_freed(shop: Shop) -> None:
    plane = await shop.plane(source={"label_selector": "team=web"})
    await shop.envoy(plane, "envoy-0")
    await shop.apply(of_team(shop, "kept", "web"), of_team(shop, "left", "web"), of_team(shop, "shared", "web"))
    for name in ("kept", "left", "shared"):
        await shop.told(name, "Ready", "True")
    await plane.stop()
    relabelled = [of_team(shop, "left", "api"), of_team(shop, "shared", "api", FOREIGN)]
    await shop.apply(*relabelled)

    plane = await shop.plane(source={"label_selector": "team=web"})
    await shop.apply(of_team(shop, "newer", "web"))
    await shop.told("newer", "Accepted", "True")
    assert held(await shop.get("left")) == [FINALIZER], "nobody looks after it any more"

    find, without_status, without_finalizer = commands()
    lines = (await type_in(shop, find)).splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["shop", "left"], ["shop", "shared"]]
    assert all(FINALIZER in line for line in lines[1:])
    await type_in(shop, without_status)
    await type_in(shop, without_finalizer)
    left, shared, kept = [await shop.get(name) for name in ("left", "shared", "kept")]
    assert (held(left), held(shared), held(kept)) == ([], [FOREIGN], [FINALIZER])
    assert not left.get("status")
    assert not shared.get("status")
    assert kept["status"]["phase"]
    await shop.delete(left)
    assert not await shop.get("left"), "it goes at once"
    assert len((await type_in(shop, find)).splitlines()) == 2
    await type_in(shop, without_status)
    await type_in(shop, without_finalizer)

    await shop.apply(of_team(shop, "shared", "web", FOREIGN))
    await shop.told("shared", "Accepted", "True")


async def test_what_is_in_a_namespace_that_is_read_no_more_is_freed(shop: Shop) -> None:
    elsewhere = shop.kube.client.namespace("closed")
    for namespace in (shop.namespace, elsewhere):
        await shop.apply(gateway(namespace, "edge", finalizers=[FINALIZER]))
    for command in commands():
        assert SELECTED in command
        await type_in(shop, command.replace(SELECTED, f"-n {elsewhere}"))
    freed = await asyncio.to_thread(shop.kube.client.get, GROUP_VERSION, KIND, "edge", elsewhere)
    assert not held(freed)
    assert held(await shop.get("edge")) == [FINALIZER]

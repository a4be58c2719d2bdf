"""What happens around the operator: kinds that go and come, namespaces that go, very many objects at once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.counts import long_or_short
from tests.support.granted import SYSTEM
from tests.support.kube import StartKube
from tests.support.kube_audit import AuditLog
from tests.support.kube_client import RefusedError
from tests.support.kube_shop import GROUP_VERSION, SLACK, backend, gateway, install, opened, until
from tests.support.kustomize import DEPLOY, of_kind, rendered

log = logging.getLogger(__name__)

ROLES = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


@pytest.mark.timeout(240)
async def test_the_kind_is_deleted_and_comes_back(own_kube: StartKube, tmp_path: Path) -> None:
    audit = AuditLog(tmp_path)
    kube = await asyncio.to_thread(own_kube, *audit.flags)
    definition = await asyncio.to_thread(install, kube)
    async with opened(kube, "default", tmp_path) as shop:
        await shop.apply(*backend("default"))
        plane = await shop.plane()
        await shop.envoy(plane, "envoy-0")
        await shop.apply(gateway("default", "edge"))
        await shop.told("edge", "Ready", "True")

        await asyncio.to_thread(kube.client.delete, definition)

        async def is_gone() -> bool:
            try:
                await asyncio.to_thread(
                    kube.client.request, "GET", f"/apis/{GROUP_VERSION}/namespaces/default/dynamicgateways"
                )
            except RefusedError as error:
                return error.code == 404
            return False

        await until(is_gone, 20, "the kind is gone, and with it its objects: no finalizer holds it up")
        assert not (await plane.get("/v1/gateways"))["gateways"]
        failed = [
            each
            for each in audit.writes(shop.credentials[0], "dynamicgateways")
            if each.code >= 400 and each.code not in (404, 409)
        ]
        assert not failed

        await asyncio.to_thread(install, kube)
        await shop.apply(gateway("default", "edge"), gateway("default", "new", port=8081))
        for name in ("edge", "new"):
            await shop.told(name, "Ready", "True", within=40)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("overlay", ["overlays/ha", "overlays/namespaced"])
async def test_a_namespace_is_deleted_with_all_that_is_in_it(own_kube: StartKube, tmp_path: Path, overlay: str) -> None:
    """Also where the right to work in it goes with it: a RoleBinding has no finalizer, and is gone first."""
    kube = await asyncio.to_thread(lambda: own_kube(controllers=True))
    await asyncio.to_thread(install, kube)
    for each in ("shop", SYSTEM):
        await asyncio.to_thread(kube.client.namespace, each)
    await asyncio.to_thread(kube.apply, list(of_kind(rendered(DEPLOY / overlay), *ROLES)))
    account = await asyncio.to_thread(kube.account_kubeconfig, SYSTEM, "tidegate")
    async with opened(kube, "shop", tmp_path) as shop:
        await shop.apply(*backend("shop"))
        lease = {"kubernetes": {"leader_election": {"namespace": SYSTEM}, "deprogram_timeout": "20s"}}
        plane = await shop.plane(source={"kubeconfig": str(account)}, settings=lease)
        await shop.envoy(plane, "envoy-0")
        await shop.apply(gateway("shop", "edge"))
        await shop.told("edge", "Ready", "True", within=20)
        await shop.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})

        async def is_gone() -> bool:
            try:
                await asyncio.to_thread(kube.client.get, "v1", "Namespace", "shop")
            except RefusedError as error:
                return error.code == 404
            return False

        await until(is_gone, 30, "the namespace is gone")
        assert (tmp_path / "plane-0" / "tidegate.log").read_text().count("reconcile_failed") == 0


@pytest.mark.timeout(900)
async def test_very_many_objects_at_once_cost_three_writes_each_at_most(own_kube: StartKube, tmp_path: Path) -> None:
    count = long_or_short(5000, 500)
    audit = AuditLog(tmp_path)
    kube = await asyncio.to_thread(own_kube, *audit.flags)
    await asyncio.to_thread(install, kube)
    async with opened(kube, "default", tmp_path) as shop:
        await shop.apply(*backend("default"))
        plane = await shop.plane()
        path = f"/apis/{GROUP_VERSION}/namespaces/default/dynamicgateways"
        bodies = [gateway("default", f"edge-{each}") for each in range(count)]
        began = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            create = asyncio.get_running_loop().run_in_executor
            await asyncio.gather(*(create(pool, kube.client.request, "POST", path, each) for each in bodies))
        created = time.monotonic() - began

        async def all_told() -> bool:
            items = (await asyncio.to_thread(kube.client.request, "GET", path))["items"]
            seen = [
                each.get("status", {}).get("observedGeneration") == each["metadata"]["generation"] for each in items
            ]
            await asyncio.sleep(0.5 + count / 1000)  # such a list costs an API server dear
            return len(seen) == count and all(seen)

        await until(all_told, 60 + count / 20, "each has a status of its generation")
        told = time.monotonic() - began
        await asyncio.sleep(12)
        writes = audit.writes(shop.credentials[0], "dynamicgateways")
        per_object = Counter(each.name for each in writes)
        events = len(audit.writes(shop.credentials[0], "events"))
        log.warning(
            "%d objects created in %.1f s, told after %.1f s; %d writes, %d Events",
            count,
            created,
            told,
            len(writes),
            events,
        )
        assert len(per_object) == count
        assert max(per_object.values()) <= 3
        assert sum(per_object.values()) + events <= 3 * count
        assert (await plane.get("/v1/gateways/default/edge-0"))["gateways"]
        assert told < (60 + count / 20) * SLACK

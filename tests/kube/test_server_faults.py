"""Faults of the API server itself: restarted, compacted, frozen, without its etcd, flooded, and not letting us in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from k8s_source.client.api import Api
from k8s_source.client.connect import Connection
from k8s_source.informer.condition import Phase
from k8s_source.informer.shared import Informers
from k8s_source.informer.target import Tuning
from tests.support.kube import COMPACTED, Kube, StartKube
from tests.support.kube_client import Object
from tests.support.kube_proxy import KubeProxy, refusal
from tests.support.kube_watch import CONFIG_MAPS, Counts, Told, config_map, connected, data_of, running, until

pytestmark = pytest.mark.timeout(300)


@asynccontextmanager
async def watched(
    config: Path, counts: Counts, tuning: Tuning | None = None, namespace: str = "default"
) -> AsyncIterator[Told]:
    """The ConfigMaps of a namespace, followed."""
    async with connected(Connection(config)) as api:
        informers = Informers(api, namespaces=[namespace], meter=counts, tuning=tuning)
        told = Told(informers.informer(CONFIG_MAPS, data_of))
        async with running(informers):
            yield told


async def test_a_restart_of_the_api_server_is_no_storm_of_lists(own_kube: StartKube) -> None:
    server = own_kube()
    server.apply([config_map("default", f"m{n}") for n in range(20)])
    counts = Counts()
    async with watched(server.kubeconfig, counts) as told:
        await asyncio.wait_for(told.informer.synced.wait(), 10)
        for round_ in range(2):
            await asyncio.to_thread(server.kill)
            await until(lambda: told.informer.condition.phase is Phase.STALE, 10)
            await asyncio.to_thread(server.start)
            server.client.apply(config_map("default", "m0", round=str(round_)))
            await until(lambda r=str(round_): told.world["m0"].get("round") == r, 35)  # type: ignore[misc]
            await until(lambda: told.informer.condition.phase is Phase.WATCHING)
        await asyncio.to_thread(server.stop_etcd)
        await asyncio.to_thread(server.start)
        server.client.apply(config_map("default", "m0", round="last"))
        await until(lambda: told.world["m0"].get("round") == "last", 35)
    # A server that has just started knows no version before its start: each start may cost one list, and no more.
    assert counts.lists["configmaps"] <= 4
    assert told.smallest == 20


async def test_a_frozen_api_server_is_told_and_nothing_is_lost(own_kube: StartKube) -> None:
    server = own_kube()
    server.apply([config_map("default", "one", a="1")])
    counts = Counts()
    async with watched(server.kubeconfig, counts, Tuning(watch_timeout=6)) as told:
        await asyncio.wait_for(told.informer.synced.wait(), 10)
        server.freeze()
        await until(lambda: told.informer.condition.phase is Phase.STALE, 6 + 2)
        await until(lambda: counts.ended["silent"] > 0, 6 + 6)
        server.thaw()
        server.client.apply(config_map("default", "one", a="2"))
        await until(lambda: told.world["one"] == {"a": "2"}, 35)
    assert told.smallest == 1
    assert counts.lists["configmaps"] == 1


async def test_a_version_that_etcd_has_compacted_is_listed_anew(own_kube: StartKube) -> None:
    server = own_kube(*COMPACTED)
    server.apply([config_map("default", f"m{n}") for n in range(4)])
    proxy = KubeProxy(server.url, server.pki.client_context("admin"), server.pki.server_context())
    await proxy.start()
    counts = Counts()
    async with watched(server.write_kubeconfig("proxied", user={}, server=proxy.url), counts) as told:
        await asyncio.wait_for(told.informer.synced.wait(), 10)
        with proxy.answering(lambda asked: refusal(503, "ServiceUnavailable") if asked.is_watch else None):
            proxy.cut()
            server.client.delete(config_map("default", "m0"))
            for n in range(20):
                server.client.apply(config_map("default", "m1", n=str(n)))
                await asyncio.sleep(0.3)
        await until(lambda: "m0" not in told.world, 35)
        await until(lambda: told.world["m1"] == {"n": "19"})
        await until(lambda: told.informer.condition.phase is Phase.WATCHING, 35)
    assert counts.lists["configmaps"] == 2
    assert told.smallest == 3
    await proxy.close()


async def test_five_thousand_objects_in_a_burst(kube: Kube, api: Api, namespace: str) -> None:
    counts = Counts()
    informers = Informers(api, namespaces=[namespace], meter=counts)
    told = Told(informers.informer(CONFIG_MAPS, data_of))
    path = kube.client.path("v1", "ConfigMap", namespace)

    def burst() -> None:
        with ThreadPoolExecutor(8) as threads:
            bodies = (config_map(namespace, f"m{n}", n=str(n)) for n in range(5_000))
            list(threads.map(lambda body: kube.client.raw("POST", path, body), bodies))

    async with running(informers):
        await asyncio.wait_for(told.informer.synced.wait(), 10)
        await asyncio.to_thread(burst)
        await until(lambda: len(told.world) == 5_000, 10)
    assert counts.lists["configmaps"] == 1
    assert told.world["m4999"] == {"n": "4999"}


async def test_who_may_not_read_is_told_and_keeps_what_is_known(kube: Kube, namespace: str) -> None:
    kube.apply([config_map(namespace, "one", a="1")])
    role: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": namespace},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "r", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    }
    config = kube.account_kubeconfig(namespace, "reader")
    async with watched(config, Counts(), Tuning(watch_timeout=4), namespace) as told:
        await until(lambda: told.informer.condition.phase is Phase.FORBIDDEN)
        assert f"list configmaps in namespace {namespace}: 403 Forbidden" in told.informer.condition.error
        assert not told.informer.synced.is_set()
        kube.apply([role, binding])
        await until(told.informer.synced.is_set, 10)
        kube.client.delete(binding)
        await until(lambda: told.informer.condition.phase is Phase.FORBIDDEN, 15)
        assert told.world == {"one": {"a": "1"}}

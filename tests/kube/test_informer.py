"""Informers against a real API server: what is there, what changes, what they share and what they choose."""

from __future__ import annotations

import asyncio

import pytest

from k8s_source.client.api import Api
from k8s_source.client.resource import SECRETS
from k8s_source.informer.condition import Phase
from k8s_source.informer.item import ItemKey
from k8s_source.informer.shared import Informers
from k8s_source.informer.target import Tuning
from tests.support.kube import Kube
from tests.support.kube_watch import CONFIG_MAPS, Told, config_map, data_of, running, until

pytestmark = pytest.mark.parametrize("tuning", [Tuning(), Tuning(streaming=False, page=2)], ids=["streamed", "paged"])


async def test_it_knows_what_is_and_what_becomes_of_it(kube: Kube, api: Api, namespace: str, tuning: Tuning) -> None:
    kube.apply([config_map(namespace, f"m{n}", n=str(n)) for n in range(5)])
    informers = Informers(api, namespaces=[namespace], tuning=tuning)
    told = Told(informers.informer(CONFIG_MAPS, data_of))
    async with running(informers):
        await asyncio.wait_for(told.informer.synced.wait(), 10)
        assert len(told.batches) == 1
        assert told.world == {f"m{n}": {"n": str(n)} for n in range(5)}
        kube.apply([config_map(namespace, "m1", n="one"), config_map(namespace, "new")])
        kube.client.delete(config_map(namespace, "m0"))
        await until(lambda: "m0" not in told.world)
    assert told.world["m1"] == {"n": "one"}
    assert "new" in told.world
    assert told.informer.condition.phase is Phase.WATCHING
    late = Told(told.informer)
    assert late.world == told.world
    assert len(late.batches) == 1


async def test_an_object_made_again_under_its_name_is_one_change_with_two_uids(
    kube: Kube, api: Api, namespace: str, tuning: Tuning
) -> None:
    (before,) = kube.apply([config_map(namespace, "one", a="1")])
    informers = Informers(api, namespaces=[namespace], tuning=tuning)
    told = Told(informers.informer(CONFIG_MAPS, data_of))
    async with running(informers):
        await asyncio.wait_for(told.informer.synced.wait(), 10)
    kube.client.delete(before)
    (after,) = kube.apply([config_map(namespace, "one", a="2")])
    async with running(informers):
        await until(lambda: told.world["one"] == {"a": "2"})
    change = told.changes[-1]
    assert change.before is not None
    assert change.after is not None
    assert (change.before.meta.uid, change.after.meta.uid) == (before["metadata"]["uid"], after["metadata"]["uid"])


async def test_views_are_shared_and_chosen_by_selectors(kube: Kube, api: Api, namespace: str, tuning: Tuning) -> None:
    tls = {"tls.crt": "", "tls.key": ""}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "opaque", "namespace": namespace}}
    kube.apply(
        [
            secret,
            secret | {"type": "kubernetes.io/tls", "data": tls, "metadata": {"name": "tls", "namespace": namespace}},
        ]
    )
    kube.apply([config_map(namespace, "mine", {"team": "a"}), config_map(namespace, "other", {"team": "b"})])
    informers = Informers(api, namespaces=[namespace], tuning=tuning)
    labelled = informers.informer(CONFIG_MAPS, data_of, labels="team in (a)")
    assert informers.informer(CONFIG_MAPS, data_of, labels="team in (a)") is labelled
    with pytest.raises(ValueError, match="configmaps is read already"):
        informers.informer(CONFIG_MAPS, bytes, labels="team in (a)")
    async with running(informers):
        secrets = informers.informer(SECRETS, bytes, fields="type=kubernetes.io/tls")  # joins while they run
        await asyncio.wait_for(asyncio.gather(labelled.synced.wait(), secrets.synced.wait()), 10)
    assert [item.key for item in labelled.store.items()] == [ItemKey(namespace, "mine")]
    assert [item.key for item in secrets.store.items()] == [ItemKey(namespace, "tls")]


async def test_a_burst_is_taken_whole(kube: Kube, api: Api, namespace: str, tuning: Tuning) -> None:
    informers = Informers(api, namespaces=[namespace], tuning=tuning)
    told = Told(informers.informer(CONFIG_MAPS, data_of))
    async with running(informers):
        await asyncio.wait_for(told.informer.synced.wait(), 10)
        await asyncio.to_thread(kube.apply, [config_map(namespace, f"m{n}", n=str(n)) for n in range(300)])
        await until(lambda: len(told.world) == 300)

"""K38, K40, K41: watches that expire, are cut, or fall silent, before a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiohttp import web

from k8s_source.client.api import Api
from k8s_source.informer.condition import Phase
from k8s_source.informer.item import ItemKey
from k8s_source.informer.shared import Informers
from k8s_source.informer.target import Tuning
from tests.support.kube import Kube
from tests.support.kube_proxy import Asked, KubeProxy, each_once, error_event, refusal
from tests.support.kube_watch import CONFIG_MAPS, SLACK, Told, config_map, data_of, running, until

PLURAL = "/configmaps"
WAYS = pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "paged"])


def _resumes(asked: Asked) -> bool:
    """A watch from a version that was seen, not one that lists."""
    return asked.is_watch and not asked.is_list and asked.path.endswith(PLURAL)


def _gone() -> web.Response:
    return refusal(410, "Expired", "too old resource version")


def _gone_event() -> web.Response:
    return error_event(410, "Expired", "too old resource version")


async def _while_away(kube: Kube, namespace: str) -> None:
    """One is deleted, one changed and one added."""
    kube.client.delete(config_map(namespace, "m0"))
    await asyncio.to_thread(kube.apply, [config_map(namespace, "m1", n="one"), config_map(namespace, "new")])


@WAYS
@pytest.mark.parametrize("gone", [_gone, _gone_event], ids=["status", "event"])
async def test_k38_gone_in_both_shapes(
    kube: Kube, proxy: KubeProxy, proxied: Api, namespace: str, *, gone: Callable[[], web.Response], streaming: bool
) -> None:
    kube.apply([config_map(namespace, f"m{n}", n=str(n)) for n in range(6)])
    informers = Informers(proxied, namespaces=[namespace], tuning=Tuning(streaming=streaming))
    told = Told(informers.informer(CONFIG_MAPS, data_of))
    async with running(informers):
        await asyncio.wait_for(told.informer.synced.wait(), 10)
        await until(lambda: bool(proxy.watches(PLURAL)))
        with proxy.answering(each_once([gone()], _resumes)):
            proxy.freeze(PLURAL)
            await _while_away(kube, namespace)
            proxy.cut(PLURAL)
            await until(lambda: "new" in told.world, 10)
        await until(lambda: told.informer.condition.phase is Phase.WATCHING)
    assert told.world == {"m1": {"n": "one"}, "new": {}} | {f"m{n}": {"n": str(n)} for n in range(2, 6)}
    assert len(proxy.lists(PLURAL)) == 2
    assert told.smallest == 6  # one gone and one new, in one batch


@WAYS
async def test_k38_gone_again_after_each_list(
    kube: Kube,
    proxy: KubeProxy,
    proxied: Api,
    namespace: str,
    streaming: bool,  # noqa: FBT001
) -> None:
    kube.apply([config_map(namespace, "one")])
    informers = Informers(proxied, namespaces=[namespace], tuning=Tuning(streaming=streaming))
    told = Told(informers.informer(CONFIG_MAPS, data_of))

    def expire(asked: Asked) -> web.StreamResponse | None:
        return _gone() if _resumes(asked) else None

    loop = asyncio.get_running_loop()
    async with running(informers):
        await asyncio.wait_for(told.informer.synced.wait(), 10)
        began = loop.time()
        with proxy.answering(expire):
            while loop.time() - began < 15:
                await asyncio.sleep(0.5)
                if told.informer.condition.phase is Phase.WATCHING:
                    proxy.cut(PLURAL)  # a streamed list goes on as a watch
        assert told.world == {"one": {}}
        lists = [each for each in proxy.lists(PLURAL) if each.at < began + 15]
        # With client-go's back-off at most 6 begin within 15 s, and 7 within 30 s; a cut takes one of two of its steps.
        assert len(lists) in (range(2, 5) if streaming else range(4, 7))
        kube.apply([config_map(namespace, "two")])
        await until(lambda: "two" in told.world, 35)
    assert told.smallest == 1


async def test_k40_deletes_missed_while_disconnected(
    kube: Kube, proxy: KubeProxy, proxied: Api, namespace: str
) -> None:
    r1, r2, r3, r4 = (config_map(namespace, f"r{n}") for n in range(1, 5))
    kube.apply([r1, r2 | {"data": {"backend": "old"}}])
    informers = Informers(proxied, namespaces=[namespace])
    told = Told(informers.informer(CONFIG_MAPS, data_of))
    async with running(informers):
        await asyncio.wait_for(told.informer.synced.wait(), 10)
        await until(lambda: bool(proxy.watches(PLURAL)))
        proxy.freeze(PLURAL)
        await asyncio.to_thread(kube.apply, [config_map(namespace, f"other{n}") for n in range(500)])
        kube.client.delete(r1)
        kube.client.delete(r2)
        kube.apply([r2 | {"data": {"backend": "new"}}, r3])
        kube.client.delete(r3)
        kube.apply([r4])
        with proxy.answering(each_once([_gone()], _resumes)):  # so that the list has to tell
            proxy.cut(PLURAL)
            await until(lambda: "r4" in told.world, 3)
    assert not {"r1", "r3"} & told.world.keys()
    assert told.world["r2"] == {"backend": "new"}
    (change,) = (each for each in told.changes if each.key == ItemKey(namespace, "r2") and each.before)
    assert change.before
    assert change.after
    assert change.before.meta.uid != change.after.meta.uid


@pytest.mark.timeout(300)
async def test_k41_a_watch_that_is_silent(kube: Kube, proxy: KubeProxy, proxied: Api, namespace: str) -> None:
    kube.apply([config_map(namespace, "one", a="1")])
    informers = Informers(proxied, namespaces=[namespace], tuning=Tuning(watch_timeout=5))
    told = Told(informers.informer(CONFIG_MAPS, data_of))
    async with running(informers):
        await asyncio.wait_for(told.informer.synced.wait(), 10)
        await until(lambda: bool(proxy.watches(PLURAL)))
        proxy.freeze(PLURAL)
        kube.apply([config_map(namespace, "one", a="2")])
        await until(lambda: told.informer.condition.phase is Phase.STALE, 5 + 2)
        assert "watch configmaps in namespace" in told.informer.condition.error
        assert told.world["one"] == {"a": "1"}
        assert told.informer.silence > 2
        await until(lambda: told.world["one"] == {"a": "2"}, 5 + 3)
        await until(lambda: told.informer.condition.phase is Phase.WATCHING)
        assert told.informer.silence < 2 * SLACK
    assert len(proxy.lists(PLURAL)) == 1  # it goes on from where it was

"""K44: kinds that the API server does not have, gets, and loses."""

from __future__ import annotations

import asyncio
import uuid

import msgspec
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from k8s_source.client.api import Api
from k8s_source.client.resource import Resource
from k8s_source.informer.condition import Phase
from k8s_source.informer.informer import Informer
from k8s_source.informer.shared import Informers
from k8s_source.informer.target import Tuning
from tests.support.kube import Kube
from tests.support.kube_client import Object
from tests.support.kube_proxy import Asked, KubeProxy, refusal
from tests.support.kube_watch import CONFIG_MAPS, data_of, running, until

QUICK = Tuning(poll=1.0)


@pytest.fixture
def widgets() -> Resource:
    """A kind of the test's own, which is not installed."""
    return Resource(f"g{uuid.uuid4().hex[:8]}.tidegate.dev", "v1", "widgets", "Widget")


def definition(kind: Resource) -> Object:
    """The CustomResourceDefinition of a kind."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": kind.plural, "kind": kind.kind, "singular": kind.kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def widget(kind: Resource, namespace: str, name: str, colour: str) -> Object:
    """An object of it."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "colour": colour}


def colour_of(body: bytes) -> str:
    """What an object says."""
    return str(msgspec.json.decode(body)["colour"])


def known(informer: Informer[str]) -> dict[str, str]:
    """The colours by name."""
    return {item.key.name: item.body for item in informer.store.items()}


def phase(informer: Informer[str]) -> Phase:
    """How it goes now."""
    return informer.condition.phase


async def test_k44_a_kind_that_is_installed_later_and_removed_again(
    kube: Kube, api: Api, namespace: str, widgets: Resource
) -> None:
    assert Tuning().poll * 2 < 60
    informers = Informers(api, tuning=QUICK)
    informer = informers.informer(widgets, colour_of)
    other = informers.informer(CONFIG_MAPS, data_of, namespaces=[namespace])
    with capture_logs() as logs:
        async with running(informers):
            await asyncio.wait_for(asyncio.gather(informer.synced.wait(), other.synced.wait()), 10)
            assert phase(informer) is Phase.ABSENT
            assert informer.condition.is_good
            await asyncio.sleep(4)
            assert [each["resource"] for each in logs] == [informer.kind]
            kube.apply([definition(widgets), widget(widgets, namespace, "one", "red")])
            await until(lambda: known(informer) == {"one": "red"}, 3)
            assert phase(informer) is Phase.WATCHING
            kube.client.delete(definition(widgets))
            await until(lambda: informer.condition.phase is Phase.ABSENT, 10)
            assert known(informer) == {}  # deleted with its kind, and told so
            kube.apply([definition(widgets), widget(widgets, namespace, "two", "blue")])
            await until(lambda: known(informer) == {"two": "blue"}, 10)
    told = [each for each in logs if "no such kind" in each["event"]]
    assert len(told) == 2
    assert not [each for each in logs if each["log_level"] == "error"]


async def test_objects_of_a_kind_that_vanishes_without_a_word_stay(
    kube: Kube, proxy: KubeProxy, proxied: Api, namespace: str, widgets: Resource
) -> None:
    kube.apply(
        [definition(widgets), widget(widgets, namespace, "one", "red"), widget(widgets, namespace, "two", "red")]
    )

    def vanished(asked: Asked) -> web.StreamResponse | None:
        return refusal(404, "NotFound", "not found") if widgets.group in asked.path else None

    informers = Informers(proxied, tuning=QUICK)
    informer = informers.informer(widgets, colour_of)
    async with running(informers):
        await asyncio.wait_for(informer.synced.wait(), 10)
        with proxy.answering(vanished):
            proxy.cut()
            await until(lambda: informer.condition.phase is Phase.STALE)
            assert "no such kind any more" in informer.condition.error
            kube.client.delete(widget(widgets, namespace, "one", "red"))
            await asyncio.sleep(2)
            assert known(informer) == {"one": "red", "two": "red"}
        await until(lambda: known(informer) == {"two": "red"})
        assert informer.condition.phase is Phase.WATCHING


async def test_a_server_that_cannot_say_what_it_has_makes_no_kind_absent(
    proxy: KubeProxy, proxied: Api, widgets: Resource
) -> None:
    def unsynced(asked: Asked) -> web.StreamResponse | None:
        return refusal(503, "ServiceUnavailable") if asked.path == widgets.base else None

    informers = Informers(proxied, tuning=QUICK)
    informer = informers.informer(widgets, colour_of)
    async with running(informers):
        with proxy.answering(unsynced):
            await asyncio.sleep(3)
            assert not informer.synced.is_set()
        await until(informer.synced.is_set, 10)
        assert informer.condition.phase is Phase.ABSENT

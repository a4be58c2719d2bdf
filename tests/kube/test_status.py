"""What the operator writes to a real API server: status, finalizer, Events. Tidegate is a process of its own."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.conformance.client import accept, hold, refuse
from tests.support.kube import Kube
from tests.support.kube_client import Object
from tests.support.kube_proxy import Asked, KubeProxy, refusal
from tests.support.kube_shop import FINALIZER, GROUP_VERSION, Shop, backend, condition, gateway, install, opened, until


@pytest.fixture
async def shop(kube: Kube, namespace: str, tmp_path: Path) -> AsyncIterator[Shop]:
    """A namespace with the kind in the cluster and a Service."""
    install(kube)
    async with opened(kube, namespace, tmp_path) as found:
        await found.apply(*backend(namespace))
        yield found


async def settled(shop: Shop, name: str, seconds: float) -> Object:
    """A gateway, of which nothing is written for so long."""
    before = await shop.get(name)
    await asyncio.sleep(seconds)
    after = await shop.get(name)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"], (before, after)
    return after


async def reasons(shop: Shop, name: str, *, until_told: str) -> list[str]:
    """The reasons of the Events about a gateway, once that one is among them."""

    async def told() -> list[str]:
        found = [each["reason"] for each in await shop.events(name)]
        return found if until_told in found else []

    return await until(told, 5, f"an Event {until_told}")


async def test_the_status_follows_the_gateway_from_its_creation_to_its_end(shop: Shop) -> None:
    plane = await shop.plane()
    await shop.apply(gateway(shop.namespace, "edge"))
    body = await shop.told("edge", "Programmed", "False")
    assert condition(body, "Programmed")["reason"] == "NoNodes"
    assert body["metadata"]["finalizers"] == [FINALIZER]
    assert body["status"]["envoys"] == "0/0"

    await shop.envoy(plane, "envoy-0")
    body = await shop.told("edge", "Ready", "True")
    assert body["status"]["envoys"] == "1/1"
    assert body["status"]["phase"] == "Ready"
    assert body["status"]["observedGeneration"] == body["metadata"]["generation"] == 1
    (route,) = body["status"]["routes"]
    assert (route["decision"], route["backend"]) == ("primary", f"{shop.namespace}/shop:80")

    await shop.apply(gateway(shop.namespace, "edge", backend="nowhere"))
    body = await shop.told("edge", "Resolved", "False", generation=2)
    assert "nowhere" in condition(body, "Resolved")["message"]

    await shop.delete(gateway(shop.namespace, "edge"))
    await shop.gone("edge")
    told = await reasons(shop, "edge", until_told="Deprogrammed")
    assert told[0] == "Programmed"
    assert "Unresolved" in told


async def test_a_refusal_is_told_in_envoys_words(shop: Shop) -> None:
    plane = await shop.plane()
    await shop.envoy(plane, "envoy-0", refuse)
    await shop.apply(gateway(shop.namespace, "edge"))
    body = await shop.told("edge", "Programmed", "False")

    async def refused() -> Object | None:
        body = await shop.get("edge")
        return body if condition(body, "Programmed").get("reason") == "Refused" else None

    body = await until(refused, 5, "the refusal in the status")
    assert "refused by the test" in condition(body, "Programmed")["message"]
    assert "refused by the test" in body["status"]["lastError"]
    await reasons(shop, "edge", until_told="Refused")
    (event,) = [each for each in await shop.events("edge") if each["reason"] == "Refused"]
    assert "refused by the test" in event["note"]
    assert event["type"] == "Warning"
    assert event["regarding"]["uid"] == body["metadata"]["uid"]


async def test_its_events_are_found_as_kubectl_looks_for_them(shop: Shop) -> None:
    """`kubectl events --for dgw/edge`: by kind, name, and the version that `kubectl` prefers."""
    await shop.plane()
    await shop.apply(gateway(shop.namespace, "edge", backend="nowhere"))
    await reasons(shop, "edge", until_told="Unresolved")
    client = shop.kube.client
    group = await asyncio.to_thread(client.request, "GET", f"/apis/{GROUP_VERSION.partition('/')[0]}")
    preferred = group["preferredVersion"]["groupVersion"]
    assert preferred != GROUP_VERSION, "or this shows nothing"
    selector = f"involvedObject.apiVersion={preferred},involvedObject.kind=DynamicGateway,involvedObject.name=edge"
    path = f"{client.path('v1', 'Event', shop.namespace)}?fieldSelector={selector}"
    found = (await asyncio.to_thread(client.request, "GET", path))["items"]
    assert "Unresolved" in {each["reason"] for each in found}


async def test_an_object_that_the_schema_takes_and_that_is_wrong_says_which_field_is(shop: Shop) -> None:
    await shop.plane()
    body = gateway(shop.namespace, "edge")
    wrong = gateway(shop.namespace, "edge")
    wrong["spec"]["routes"][0]["path"] = "/a?b=c"
    await shop.apply(wrong)
    for generation, status in ((1, "False"), (2, "True"), (3, "False")):
        found = await shop.told("edge", "Accepted", status, generation=generation)
        assert found["status"]["observedGeneration"] == generation
        assert ("spec.routes[0].path" in str(found["status"]["lastError"])) is (status == "False")
        assert found["status"]["phase"] == {1: "Failed", 2: "Pending", 3: "Degraded"}[generation]
        await shop.apply(body if generation == 1 else wrong)

    async def is_series() -> list[Object]:
        events = await shop.events("edge")
        return events if any(each.get("series", {}).get("count") == 2 for each in events) else []

    events = await until(is_series, 5, "the second one is told with the first")
    assert [each["reason"] for each in events] == ["Invalid", "Valid"]
    assert "spec.routes[0].path" in events[0]["note"]


async def test_a_degradation_and_the_way_back_are_told(shop: Shop) -> None:
    plane = await shop.plane()
    await shop.envoy(plane, "envoy-0")
    body = gateway(shop.namespace, "edge")
    body["spec"]["routes"][0]["degradeService"] = "lite"
    await shop.apply(*backend(shop.namespace, "lite", "10.0.0.2"), body)
    await shop.told("edge", "Ready", "True")
    forced = {"route": f"{shop.namespace}/edge/all", "value": "forced", "reason": "a test"}
    for switches, status, reason in (([forced], "True", "Degraded"), ([], "False", "Recovered")):
        async with aiohttp.request("PUT", f"{plane.admin}/v1/switches", json={"degradation": switches}) as answer:
            assert answer.status == 200, await answer.text()
        found = await shop.told("edge", "Degraded", status)
        (route,) = found["status"]["routes"]
        assert route["backend"] == f"{shop.namespace}/{'lite' if switches else 'shop'}:80"
        assert found["status"]["phase"] == ("Degraded" if switches else "Ready")
        assert (await reasons(shop, "edge", until_told=reason))[-1] == reason
    entries = (await plane.get("/v1/audit?limit=1000"))["entries"]
    targets = [each["target"] for each in reversed(entries) if each["action"] == "write"]
    assert targets[:2] == [f"lease {shop.namespace}/tidegate", f"finalizer {shop.namespace}/edge"]
    assert targets.count(f"status {shop.namespace}/edge") >= 3


async def test_a_deletion_waits_for_envoys_that_do_not_answer_for_so_long_only(shop: Shop) -> None:
    plane = await shop.plane()
    stream = await shop.envoy(plane, "envoy-0")
    await shop.apply(gateway(shop.namespace, "edge"), gateway(shop.namespace, "other", port=8081))
    await shop.told("edge", "Programmed", "True")
    stream.answer = hold
    await shop.delete(gateway(shop.namespace, "edge"))
    await asyncio.sleep(1.5)
    body = await shop.get("edge")
    assert body["metadata"]["deletionTimestamp"], "it waits"
    await shop.gone("edge")
    await reasons(shop, "edge", until_told="NotDeprogrammed")


async def test_a_deletion_waits_until_envoys_have_let_go(shop: Shop) -> None:
    plane = await shop.plane(settings={"kubernetes": {"leader_election": {"enabled": False}}})
    stream = await shop.envoy(plane, "envoy-0")
    await shop.apply(gateway(shop.namespace, "edge"), gateway(shop.namespace, "other", port=8081))
    await shop.told("edge", "Programmed", "True")
    stream.answer = hold
    await shop.delete(gateway(shop.namespace, "edge"))
    await asyncio.sleep(4)
    assert await shop.get("edge"), "30 s are not over"
    stream.answer = accept
    for each in stream.received[-4:]:
        stream.ack(each)
    await shop.gone("edge")
    assert "NotDeprogrammed" not in await reasons(shop, "edge", until_told="Deprogrammed")


async def test_what_was_deleted_while_nobody_ran_goes_when_somebody_does(shop: Shop) -> None:
    plane = await shop.plane()
    await shop.apply(gateway(shop.namespace, "edge"), gateway(shop.namespace, "kept"))
    await shop.told("edge", "Accepted", "True")
    await shop.told("kept", "Accepted", "True")
    plane.child.signal(signal.SIGKILL)
    await plane.child.wait(10)
    await shop.delete(gateway(shop.namespace, "edge"))
    keeping = gateway(shop.namespace, "kept", finalizers=["other.example/keep"])
    await shop.apply(keeping)
    await shop.delete(keeping)
    assert await shop.get("edge"), "its finalizer was left by a crash"

    plane = await shop.plane()
    await shop.gone("edge")

    async def ours_is_gone() -> Object | None:
        body = await shop.get("kept")
        return body if FINALIZER not in body["metadata"]["finalizers"] else None

    body = await until(ours_is_gone, 5, "our finalizer is removed")
    assert body["metadata"]["finalizers"] == ["other.example/keep"]
    assert not (await plane.get("/v1/gateways"))["gateways"], "it is served no more, whoever keeps the object"
    await shop.apply(gateway(shop.namespace, "kept", finalizers=[]))
    await shop.gone("kept")


async def test_an_object_whose_label_goes_can_be_deleted_and_says_nothing_any_more(shop: Shop) -> None:
    of_this_test = {"label_selector": f"team={shop.namespace}"}
    plane = await shop.plane(source=of_this_test)
    await shop.envoy(plane, "envoy-0")
    await shop.apply(gateway(shop.namespace, "edge", labels={"team": shop.namespace}))
    await shop.told("edge", "Ready", "True")
    await shop.apply(gateway(shop.namespace, "edge", labels={}))

    async def let_go() -> Object | None:
        body = await shop.get("edge")
        return body if FINALIZER not in body["metadata"].get("finalizers", []) else None

    body = await until(let_go, 5, "our finalizer is removed")
    assert condition(body, "Ready")["status"] == "False", "it is served no more"
    assert not condition(body, "Accepted")
    await shop.apply(gateway(shop.namespace, "edge", labels={"team": shop.namespace}))
    await shop.told("edge", "Ready", "True")
    await shop.apply(gateway(shop.namespace, "edge", labels={}))
    await shop.delete(gateway(shop.namespace, "edge"))
    await shop.gone("edge")


async def test_a_restart_writes_nothing_and_a_foreign_edit_is_healed(shop: Shop) -> None:
    plane = await shop.plane()
    await shop.envoy(plane, "envoy-0")
    await shop.apply(gateway(shop.namespace, "edge"))
    before = await shop.told("edge", "Ready", "True")
    await reasons(shop, "edge", until_told="Programmed")
    assert await plane.stop() == 0
    plane = await shop.plane()
    await shop.envoy(plane, "envoy-0")
    after = await settled(shop, "edge", 12)
    assert after["status"] == before["status"]

    edit = {**after, "status": {**after["status"], "phase": "Failed", "lastError": "no"}}
    edit["metadata"] = {"name": "edge", "namespace": shop.namespace}
    await asyncio.to_thread(lambda: shop.kube.client.apply(edit, subresource="status"))

    async def healed() -> bool:
        return bool((await shop.get("edge"))["status"] == before["status"])

    await until(healed, 5, "the status is as it was")
    assert [each["reason"] for each in await shop.events("edge")] == ["Programmed"]


async def test_conflicts_on_every_status_write_pass(shop: Shop, proxy: KubeProxy) -> None:
    refused: list[float] = []

    def conflict(asked: Asked) -> web.Response | None:
        if asked.path.endswith("/status"):
            refused.append(asked.at)
            return refusal(409, "Conflict")
        return None

    with proxy.answering(conflict):
        plane = await shop.plane(server=proxy.url)
        await shop.envoy(plane, "envoy-0")
        await shop.apply(*(gateway(shop.namespace, f"edge-{each}", port=8080 + each) for each in range(3)))
        await asyncio.sleep(4)
    assert len(refused) >= 6, "each is tried again"
    assert len(refused) < 60, "behind a back-off"
    for each in range(3):
        await shop.told(f"edge-{each}", "Ready", "True", within=15)
        assert await reasons(shop, f"edge-{each}", until_told="Programmed") == ["Programmed"]

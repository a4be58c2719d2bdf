"""Events as a real API server has them: what `kubectl describe` and `kubectl get events` read."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from k8s_source.client.api import Api
from k8s_source.events import series
from k8s_source.events.event import Event, Reference, Reporter, Type
from k8s_source.events.recorder import Recorder
from tests.support.fleet import SLACK
from tests.support.kube import Kube

CONTROLLER = "tidegate.dev/gateway-controller"


class Count:
    def __init__(self) -> None:
        self.told: Counter[str] = Counter()

    def event_told(self, outcome: str) -> None:
        self.told[outcome] += 1


@pytest.fixture
def count() -> Count:
    return Count()


@pytest.fixture
async def recorder(api: Api, count: Count, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Recorder]:
    """One that runs, and whose series end after a second."""
    monkeypatch.setattr(series, "FINISH", 1.0)
    made = Recorder(api, Reporter(CONTROLLER, f"{CONTROLLER}-pod-0"), count)
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    await asyncio.wait([running])


def config_map(kube: Kube, namespace: str, name: str = "one") -> Reference:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}
    metadata = kube.client.apply(body)["metadata"]
    return Reference("v1", "ConfigMap", name, namespace, metadata["uid"], metadata["resourceVersion"])


def about(regarding: Reference, note: str = "route / leads to slow-shop") -> Event:
    return Event(regarding, Type.WARNING, "Degraded", "Degrade", note)


def described(kube: Kube, regarding: Reference) -> list[dict[str, Any]]:
    """What `kubectl describe` asks for: the core form, by the object's uid."""
    path = kube.client.path("v1", "Event", regarding.namespace)
    found: list[dict[str, Any]] = kube.client.request(
        "GET", f"{path}?fieldSelector=involvedObject.uid={regarding.uid}"
    )["items"]
    return found


async def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 10 * SLACK
    while not is_so():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


async def test_the_count_of_a_series_is_seen(recorder: Recorder, count: Count, kube: Kube, namespace: str) -> None:
    one = config_map(kube, namespace)
    recorder.record(about(one))
    await until(lambda: count.told["written"] == 1)
    (first,) = described(kube, one)
    assert (first["type"], first["reason"], first["action"]) == ("Warning", "Degraded", "Degrade")
    assert first["message"] == "route / leads to slow-shop"
    assert (first["reportingComponent"], first["reportingInstance"]) == (CONTROLLER, f"{CONTROLLER}-pod-0")
    assert "series" not in first
    # Another state of the object, another note: the same thing again.
    for number in range(4):
        recorder.record(about(replace_version(one, f"{number}"), f"again {number}"))
    await until(lambda: count.told["written"] >= 2)
    await until(lambda: described(kube, one)[0].get("series", {}).get("count") == 5)
    (again,) = described(kube, one)
    assert again["metadata"]["name"] == first["metadata"]["name"]
    newer = kube.client.get("events.k8s.io/v1", "Event", first["metadata"]["name"], namespace)
    assert newer["series"]["count"] == 5
    assert newer["series"]["lastObservedTime"] > newer["eventTime"]
    assert newer["regarding"]["uid"] == one.uid
    assert set(count.told) == {"written"}


def replace_version(reference: Reference, version: str) -> Reference:
    return Reference(reference.api_version, reference.kind, reference.name, reference.namespace, reference.uid, version)


async def test_an_event_that_is_gone_is_made_anew(
    recorder: Recorder, count: Count, kube: Kube, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = config_map(kube, namespace)
    recorder.record(about(one))
    await until(lambda: count.told["written"] == 1)
    (event,) = described(kube, one)
    kube.client.delete({"apiVersion": "v1", "kind": "Event", "metadata": event["metadata"]})
    recorder.record(about(one))
    await until(lambda: count.told["written"] == 2)
    (event,) = described(kube, one)
    assert event["series"]["count"] == 2


async def test_what_is_too_long_is_cut_and_taken(recorder: Recorder, count: Count, kube: Kube, namespace: str) -> None:
    one = config_map(kube, namespace, "x" * 253)
    recorder.record(about(one, "ä" * 2000))
    await until(lambda: count.told["written"] == 1)
    (event,) = described(kube, one)
    assert len(event["message"].encode()) in {1023, 1024}


async def test_what_is_refused_holds_up_nothing(recorder: Recorder, count: Count, kube: Kube, namespace: str) -> None:
    one = config_map(kube, namespace)
    recorder.record(about(Reference("v1", "ConfigMap", "one", "no-such-namespace")))
    recorder.record(replace(about(one), action=""))
    recorder.record(about(one))
    await until(lambda: count.told.total() == 3)
    assert count.told == {"refused": 2, "written": 1}

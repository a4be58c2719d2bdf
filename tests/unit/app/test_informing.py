"""Gauges of what is read of an API server, as `/metrics` shows them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from k8s_source.client.connect import Connection, connect
from k8s_source.client.resource import SERVICES
from k8s_source.informer.item import Item, ItemKey, ItemMeta
from k8s_source.informer.shared import Informers
from xds_server.app.informing import observe_informers
from xds_server.telemetry.metrics import Metrics


async def test_a_resource_is_told_as_one_and_its_requests_are_counted(tmp_path: Path) -> None:
    metrics = Metrics()
    api = connect(Connection(tmp_path / "nowhere"), requested=metrics.requested)
    informers = Informers(api, meter=metrics)
    for namespaces in ([], ["shop"]):
        informer = informers.informer(SERVICES, bytes, namespaces=namespaces)
        informer.store.put(Item(ItemKey("shop", "web"), ItemMeta("1", "1"), b""))
    observe_informers(metrics, informers)
    task = asyncio.create_task(informers.run())
    await asyncio.sleep(0.1)
    body, _ = await metrics.render("")
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await api.close()
    metrics.close()
    samples = [each for family in parse(body.decode()) for each in family.samples]
    found = {(each.name, *sorted(each.labels.values(), reverse=True)): each.value for each in samples}
    assert found["tidegate_kubernetes_objects", "services"] == 2
    assert found["tidegate_kubernetes_informer", "services", "listing"] == 1
    assert found["tidegate_kubernetes_silence_seconds", "services"] == pytest.approx(0.1, abs=1)
    assert found["tidegate_kubernetes_watches_total", "services"] == 2
    assert found["tidegate_kubernetes_watches_ended_total", "services", "error"] == 2

"""Gauges of controllers and of leadership, as `/metrics` shows them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from k8s_source.workqueue.controller import Controller
from k8s_source.workqueue.result import Result
from xds_server.app.working import observe_controllers, observe_leadership
from xds_server.telemetry.metrics import Metrics


@pytest.fixture
async def metrics() -> AsyncIterator[Metrics]:
    made = Metrics()
    yield made
    made.close()


async def values(metrics: Metrics, label: str) -> dict[str, float]:
    body, _ = await metrics.render("")
    return {
        each.name: each.value
        for family in parse(body.decode())
        for each in family.samples
        if label in each.labels.values() and not each.name.endswith(("_bucket", "_created"))
    }


async def test_a_controllers_work_is_seen_as_it_goes_on(metrics: Metrics) -> None:
    go = asyncio.Event()

    async def reconcile(_key: str) -> Result:
        await go.wait()
        return Result()

    controller: Controller[str] = Controller("shop", reconcile, metrics, workers=2)
    observe_controllers(metrics, [controller])
    running = asyncio.create_task(controller.run())
    for key in "abc":
        controller.add(key)
    await asyncio.sleep(0.01)
    found = await values(metrics, "shop")
    assert found["workqueue_depth"] == 1
    assert found["workqueue_adds_total"] == 3
    assert found["controller_runtime_active_workers"] == found["controller_runtime_max_concurrent_reconciles"] == 2
    assert found["workqueue_unfinished_work_seconds"] > found["workqueue_longest_running_processor_seconds"] > 0
    go.set()
    await asyncio.sleep(0.01)
    found = await values(metrics, "shop")
    assert found["workqueue_depth"] == found["controller_runtime_active_workers"] == 0
    assert found["workqueue_longest_running_processor_seconds"] == 0
    assert found["controller_runtime_reconcile_time_seconds_count"] == 3
    running.cancel()
    await asyncio.wait([running])


async def test_leadership(metrics: Metrics) -> None:
    leads = False
    observe_leadership(metrics, "tidegate", lambda: leads)
    assert (await values(metrics, "tidegate"))["leader_election_master_status"] == 0
    leads = True
    assert (await values(metrics, "tidegate"))["leader_election_master_status"] == 1

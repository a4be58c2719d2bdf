"""Gauges of the work in a cluster: queues, controllers, leadership."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from k8s_source.workqueue.controller import Controller
from xds_server.telemetry import names_work as names
from xds_server.telemetry.metrics import Metrics, Readings


def observe_controllers(metrics: Metrics, controllers: Sequence[Controller[Any]]) -> None:
    """Have the gauges of these controllers, and of their queues, read at each scrape."""
    for controller in controllers:
        metrics.reconciling(controller.name)

    def read(value: Callable[[Controller[Any]], float]) -> Callable[[], Readings]:
        return lambda: [((each.name,), value(each)) for each in controllers]

    metrics.observe(names.DEPTH, read(lambda each: each.depth))
    metrics.observe(names.UNFINISHED, read(lambda each: each.running().unfinished))
    metrics.observe(names.LONGEST, read(lambda each: each.running().longest))
    metrics.observe(names.ACTIVE_WORKERS, read(lambda each: each.running().pieces))
    metrics.observe(names.MAX_CONCURRENT, read(lambda each: each.workers))


def observe_leadership(metrics: Metrics, lease: str, is_leader: Callable[[], bool]) -> None:
    """Have the gauge of leadership read at each scrape, under the Lease's name."""
    metrics.observe(names.LEADER, lambda: [((lease,), float(is_leader()))])

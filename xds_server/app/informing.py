"""Gauges of what is read of a Kubernetes API server."""

from __future__ import annotations

from collections import defaultdict

from k8s_source.informer.condition import Condition, worst
from k8s_source.informer.shared import Informers
from xds_server.telemetry import names_kubernetes as names
from xds_server.telemetry.metrics import Metrics, Readings


def observe_informers(metrics: Metrics, informers: Informers) -> None:
    """Have the gauges of these informers read at each scrape. A resource with several views is told as one."""

    def objects() -> Readings:
        found: defaultdict[str, int] = defaultdict(int)
        for each in informers:
            found[each.kind] += len(each.store)
        return [((kind,), count) for kind, count in found.items()]

    def silence() -> Readings:
        found: defaultdict[str, float] = defaultdict(float)
        for each in informers:
            found[each.kind] = max(found[each.kind], each.silence)
        return [((kind,), seconds) for kind, seconds in found.items()]

    def phases() -> Readings:
        found: defaultdict[str, list[Condition]] = defaultdict(list)
        for each in informers:
            found[each.kind].append(each.condition)
        return [((kind, worst(conditions).phase.value), 1) for kind, conditions in found.items()]

    metrics.observe(names.OBJECTS, objects)
    metrics.observe(names.SILENCE, silence)
    metrics.observe(names.INFORMER, phases)

"""The metrics of one running Tidegate: cheap calls for the hot path, hooks for gauges, and the text of `/metrics`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from xds_server.telemetry import names, names_kubernetes as kubernetes, names_webhook as webhook, names_work as work
from xds_server.telemetry.export import Exporter, Scrape
from xds_server.telemetry.metric import Kind, Metric
from xds_server.telemetry.tally import Counter, Distribution, Readings

__all__ = ["Metrics", "Readings"]

_TYPES = tuple((key,) for key in ("cds", "eds", "lds", "rds", "sds"))
_BY_TYPE_ONLY = (names.PUSHES, names.PUSH_BYTES, names.ACKS, names.SEQUENCER_TIMEOUTS)


class Metrics:
    """Made once, by the composition root. All calls belong on the event loop's thread.

    `type_key` is a short key (`cds`) or a type URL. A call costs less than 1 µs.
    """

    def __init__(self, version: str = "") -> None:
        """Begin with nothing counted; `version` is told as `service_version` of `target_info`."""
        self._exporter = Exporter(version)
        self._gauges: dict[Metric, Callable[[], Readings]] = {}
        self._counters = {each: _counter(each) for each in names.ALL if each.kind is Kind.COUNTER}
        self._histograms = {each: Distribution(each.buckets) for each in names.ALL if each.kind is Kind.HISTOGRAM}
        # The hot ones, looked up once.
        self._pushes = self._counters[names.PUSHES]
        self._push_bytes = self._counters[names.PUSH_BYTES]
        self._acks = self._counters[names.ACKS]
        self._ack_latency = self._histograms[names.ACK_LATENCY]
        self._push_latency = self._histograms[names.PUSH_LATENCY]

    def pushed(self, type_key: str, size: int) -> None:
        """Count a response of `size` bytes that was handed to the transport."""
        labels = (type_key,)
        self._pushes.add(labels)
        self._push_bytes.add(labels, size)

    def push_latency(self, seconds: float) -> None:
        """Count the time from a change seen to its response handed to the transport."""
        self._push_latency.record((), seconds)

    def acked(self, type_key: str, took: float) -> None:
        """Count an ACK that came `took` seconds after its response."""
        labels = (type_key,)
        self._acks.add(labels)
        self._ack_latency.record(labels, took)

    def nacked(self, type_key: str, group: str) -> None:
        """Count a NACK."""
        self._counters[names.NACKS].add((type_key, group))

    def built(self, seconds: float) -> None:
        """Count the time that a round of changes took to become snapshots."""
        self._histograms[names.SNAPSHOT_BUILD].record((), seconds)

    def published(self, group: str) -> None:
        """Count a snapshot that a group is served from now on."""
        self._counters[names.SNAPSHOTS].add((group,))

    def sequencer_timeout(self, type_key: str) -> None:
        """Count a step that went on without the node's answer."""
        self._counters[names.SEQUENCER_TIMEOUTS].add((type_key,))

    def rejected(self, reason: str) -> None:
        """Count a refused request; `reason` is a constant word, never a text of the client's."""
        self._counters[names.REQUESTS_REJECTED].add((reason,))

    def checked(self, outcome: str, seconds: float) -> None:
        """Count a change that a real Envoy was to check."""
        self._counters[names.PREFLIGHT_CHECKS].add((outcome,))
        self._histograms[names.PREFLIGHT_SECONDS].record((), seconds)

    def sampled(self, observer: str, target: str, seconds: float) -> None:
        """Count a round of asking a target (a Kafka cluster), and how long it took."""
        self._histograms[names.OBSERVER_SAMPLE_SECONDS].record((observer, target), seconds)

    def sample_failed(self, observer: str, target: str, reason: str) -> None:
        """Count a query that a round could not answer; `reason` is a constant word."""
        self._counters[names.OBSERVER_FAILURES].add((observer, target, reason))

    def decided(self, namespace: str, gateway: str, decision: str) -> None:
        """Count a route of a gateway that leads elsewhere now."""
        self._counters[names.TRANSITIONS].add((namespace, gateway, decision))

    def breaker_tripped(self) -> None:
        """Count that the breaker on degradation has tripped."""
        self._counters[names.BREAKER_TRIPS].add(())

    def requested(self, method: str, status: int, seconds: float) -> None:
        """Count a request to a Kubernetes API server; `status` is 0 where there was no answer."""
        self._counters[kubernetes.REQUESTS].add((str(status) if status else "<error>", method))
        self._histograms[kubernetes.REQUEST_SECONDS].record((method,), seconds)

    def listed(self, resource: str, seconds: float) -> None:
        """Count a list of a Kubernetes resource that was read whole."""
        self._histograms[kubernetes.LIST_SECONDS].record((resource,), seconds)

    def watched(self, resource: str) -> None:
        """Count a watch of a Kubernetes resource that was asked for."""
        self._counters[kubernetes.WATCHES].add((resource,))

    def watch_ended(self, resource: str, reason: str) -> None:
        """Count a watch that ended; `reason` is a constant word."""
        self._counters[kubernetes.WATCHES_ENDED].add((resource, reason))

    def watch_event(self, resource: str, kind: str) -> None:
        """Count an event of a watch."""
        self._counters[kubernetes.WATCH_EVENTS].add((resource, kind))

    def reconciling(self, name: str) -> None:
        """Show the counters of a controller from now on, with 0 where nothing was counted: what rises can be seen."""
        for counted in (work.ADDS, work.RETRIES, work.RECONCILE_ERRORS, work.TERMINAL_ERRORS):
            self._counters[counted].add((name,), 0)
        for result in work.RESULTS:
            self._counters[work.RECONCILES].add((name, result), 0)

    def work_added(self, name: str) -> None:
        """Count a key that waits from now on in the queue of a controller."""
        self._counters[work.ADDS].add((name,))

    def work_retried(self, name: str) -> None:
        """Count a key that is to be tried again."""
        self._counters[work.RETRIES].add((name,))

    def work_started(self, name: str, waited: float) -> None:
        """Count a key that waited so many seconds before its work began."""
        self._histograms[work.QUEUE_SECONDS].record((name,), waited)

    def work_ended(self, name: str, took: float) -> None:
        """Count a piece of work that took so many seconds."""
        self._histograms[work.WORK_SECONDS].record((name,), took)

    def reconciled(self, name: str, outcome: str, took: float) -> None:
        """Count a reconcile by its result; the outcome `terminal` is an error that is not tried again."""
        if outcome == work.TERMINAL:
            self._counters[work.TERMINAL_ERRORS].add((name,))
            outcome = work.ERROR
        if outcome == work.ERROR:
            self._counters[work.RECONCILE_ERRORS].add((name,))
        self._counters[work.RECONCILES].add((name, outcome))
        self._histograms[work.RECONCILE_SECONDS].record((name,), took)

    def event_told(self, outcome: str) -> None:
        """Count a Kubernetes Event, or a count of a series of them, by what became of it."""
        self._counters[work.EVENTS].add((outcome,))

    def webhook_answered(self, path: str, code: str, took: float) -> None:
        """Count a review that was answered with a status, in so many seconds."""
        self._counters[webhook.REQUESTS].add((path, code))
        self._histograms[webhook.LATENCY].record((path,), took)

    def observe(self, gauge: Metric, read: Callable[[], Readings]) -> None:
        """Have a gauge of the table `names` read at each scrape, on the event loop: values by label values."""
        self._gauges[gauge] = read

    async def render(self, accept: str) -> tuple[bytes, str]:
        """All metrics as text, and its content type: OpenMetrics where `accept` asks for it, else Prometheus text.

        The numbers are taken at once, on the event loop; the text is made in a thread.
        """
        values = {metric: counter.read() for metric, counter in self._counters.items()}
        values |= {gauge: read() for gauge, read in self._gauges.items()}
        histograms = {metric: histogram.read() for metric, histogram in self._histograms.items()}
        return await asyncio.to_thread(self._exporter.text, Scrape(values, histograms), accept)

    def close(self) -> None:
        """Let go of the exporter."""
        self._exporter.close()


def _counter(metric: Metric) -> Counter:
    if not metric.labels:
        return Counter(0, ((),))
    return Counter(len(metric.labels), _TYPES if metric in _BY_TYPE_ONLY else ())

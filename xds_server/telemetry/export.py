"""From numbers to the text of `/metrics`, by OpenTelemetry's provider and its Prometheus exporter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider, ObservableCounter, ObservableGauge
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.registry import Collector

from xds_server.telemetry.metric import Kind, Metric
from xds_server.telemetry.names import ALL
from xds_server.telemetry.tally import Labels, Readings, Series

_MOST_SERIES = 1_000_000
"""For the SDK, which lumps all beyond 2,000 together by default."""

_FORGOTTEN_AFTER = 10_000


@dataclass(frozen=True, slots=True)
class Scrape:
    """All numbers at one moment."""

    values: Mapping[Metric, Readings] = field(default_factory=dict)
    histograms: Mapping[Metric, list[Series]] = field(default_factory=dict)


class Exporter:
    """Shows scrapes as text. All instruments are observable ones: the provider keeps no numbers of its own.

    It does keep every label set that it ever saw, so it is made anew once 10,000 of them are there no more
    (groups come and go). Not for each scrape: a provider leaves a hook for forks behind that nothing removes.
    """

    def __init__(self, version: str) -> None:
        """Show `version` as `service_version` of `target_info`."""
        self._resource = Resource.create({"service.name": "tidegate", "service.version": version})
        self._lock = Lock()
        self._scrape = Scrape()
        self._seen: set[tuple[Metric, Labels]] = set()
        self._provider, self._registry = self._assemble()

    def text(self, scrape: Scrape, accept: str) -> tuple[bytes, str]:
        """The numbers as text, and its content type: OpenMetrics where `accept` asks for it, else Prometheus text.

        Costs some 40 µs per series, so it belongs off the event loop; any thread may call it.
        """
        with self._lock:
            self._scrape = scrape
            self._renew_when_stale()
            encode, content_type = choose_encoder(accept)
            body: bytes = encode(self._registry)
        return body, content_type

    def close(self) -> None:
        """Let go of the provider."""
        self._provider.shutdown()

    def _renew_when_stale(self) -> None:
        live = {(metric, labels) for metric, readings in self._scrape.values.items() for labels, _ in readings}
        self._seen |= live
        if len(self._seen) > len(live) + _FORGOTTEN_AFTER:
            self._seen = live
            self._provider.shutdown()
            self._provider, self._registry = self._assemble()

    def _assemble(self) -> tuple[MeterProvider, CollectorRegistry]:
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(_Histograms(lambda: self._scrape.histograms))
        limits: dict[type, int] = {ObservableCounter: _MOST_SERIES, ObservableGauge: _MOST_SERIES}
        reader = PrometheusMetricReader(scope_info_enabled=False, registry=registry, cardinality_limits=limits)
        provider = MeterProvider([reader], self._resource, shutdown_on_exit=False)
        meter = provider.get_meter("tidegate")
        for metric in ALL:
            if metric.kind is Kind.COUNTER:
                meter.create_observable_counter(metric.name, [self._observer(metric)], description=metric.help)
            elif metric.kind is Kind.GAUGE:
                meter.create_observable_gauge(metric.name, [self._observer(metric)], description=metric.help)
        return provider, registry

    def _observer(self, metric: Metric) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observations(_options: CallbackOptions) -> Iterable[Observation]:
            readings = self._scrape.values.get(metric, ())
            return [Observation(value, dict(zip(metric.labels, labels, strict=True))) for labels, value in readings]

        return observations


class _Histograms(Collector):
    """Shows our histograms to the registry: OpenTelemetry has no observable one."""

    def __init__(self, read: Callable[[], Mapping[Metric, list[Series]]]) -> None:
        self._read = read

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """All histograms as the registry wants them."""
        for metric, all_series in self._read().items():
            family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
            for series in all_series:
                family.add_metric(series.labels, series.buckets, series.total)
            yield family

"""The observers that the settings ask for, and the task that each of them runs in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from observers.base import Meter, Observer, Report, Sampling
from observers.kafka_lag.options import ClusterOptions, Security
from observers.prometheus.observer import PrometheusValues
from observers.prometheus.options import Options, Security as Login
from observers.registry import plugged_in
from xds_server.ir.facts import LagQuery, Observation
from xds_server.settings import observers as sections
from xds_server.settings.root import Settings
from xds_server.telemetry import names
from xds_server.telemetry.metrics import Metrics, Readings

_RETRY = 5.0
"""Seconds after which an observer that ended by an error is started again."""

_BREAKER_STATES = ("closed", "open", "half_open")

_log = structlog.get_logger()


def make_observers(settings: Settings, meter: Meter) -> list[Observer]:
    """An observer for each section of `observers`; `meter` counts what those of ours do."""
    made: list[Observer] = []
    if settings.observers.kafka is not None:
        made.append(_kafka(settings.observers.kafka, meter))
    if settings.observers.prometheus is not None:
        made.append(_prometheus(settings.observers.prometheus, meter))
    return made + plugged_in(settings.observers.plug_ins)


def observe_observers(metrics: Metrics, observers: Sequence[Observer], clock: Callable[[], float]) -> None:
    """Have the gauges of the table read from what observers know; `clock` gives POSIX seconds."""

    def known() -> list[Observation]:
        return [each for observer in observers for each in observer.observations()]

    def lag() -> Readings:
        return [
            ((query.cluster, query.group, ",".join(query.topics)), value)
            for query, value in ((each.query, each.value) for each in known())
            if isinstance(query, LagQuery) and value is not None
        ]

    def age() -> Readings:
        now = clock()
        return [((each.query.observer, str(each.query)), now - each.sampled) for each in known() if each.sampled]

    def breaker() -> Readings:
        states = {(each.query.observer, _target(each)): each.breaker for each in known()}
        return [
            ((*guarded, state), float(state == now)) for guarded, now in states.items() for state in _BREAKER_STATES
        ]

    metrics.observe(names.KAFKA_LAG, lag)
    metrics.observe(names.OBSERVER_SAMPLE_AGE, age)
    metrics.observe(names.OBSERVER_BREAKER, breaker)


def _target(observation: Observation) -> str:
    """What the breaker guards."""
    query = observation.query
    return query.cluster if isinstance(query, LagQuery) else query.observer


def _kafka(kafka: sections.Kafka, meter: Meter) -> Observer:
    # Its client library costs a process 0.1 s of CPU and 4 MB.
    from observers.kafka_lag.observer import KafkaLag  # noqa: PLC0415 - only with Kafka

    clusters = {name: _cluster(cluster) for name, cluster in kafka.clusters.items()}
    return KafkaLag("kafka", clusters, _sampling(kafka), meter, kafka.stall_samples)


def _sampling(section: sections.Sampling) -> Sampling:
    breaker = section.breaker
    return Sampling(section.interval, section.timeout, section.ttl, breaker.failures, breaker.reset)


def _cluster(cluster: sections.KafkaCluster) -> ClusterOptions:
    security = cluster.security
    login = Security(
        protocol=security.protocol,
        mechanism=security.mechanism,
        username=security.username,
        password=security.password.get_secret_value() if security.password else None,
        password_file=security.password_file,
        ca=security.ca,
        cert=security.cert,
        key=security.key,
        check_hostname=security.check_hostname,
    )
    brokers = tuple((broker.host, broker.port) for broker in cluster.brokers)
    return ClusterOptions(brokers, login, cluster.isolation == "read_committed")


def _prometheus(section: sections.Prometheus, meter: Meter) -> PrometheusValues:
    security = section.security
    login = Login(
        token=security.token.get_secret_value() if security.token else None,
        token_file=security.token_file,
        username=security.username,
        password=security.password.get_secret_value() if security.password else None,
        password_file=security.password_file,
        ca=security.ca,
        cert=security.cert,
        key=security.key,
        check_hostname=security.check_hostname,
    )
    options = Options(section.url, login, section.max_age, section.concurrency)
    return PrometheusValues("prometheus", options, _sampling(section), meter)


async def run_observer(observer: Observer, report: Report) -> None:
    """Run an observer for ever: one that ends by an error is logged and started again; the others go on."""
    while True:
        try:
            await observer.run(report)
        except Exception:  # noqa: BLE001 - a plug-in may raise anything; its task ends here
            _log.exception("observer_failed", observer=observer.name)
        await asyncio.sleep(_RETRY)

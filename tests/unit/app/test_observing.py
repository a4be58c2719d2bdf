"""Observers as the settings ask for them, the gauges that are read from them, and a plug-in that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import pytest

from observers.base import Report
from observers.kafka_lag.observer import KafkaLag
from observers.kafka_lag.options import ClusterOptions, Security
from xds_server.app.observing import _cluster, make_observers, observe_observers, run_observer
from xds_server.ir.facts import LagQuery, Observation, Query, ValueQuery
from xds_server.settings import Settings
from xds_server.settings.observers import KafkaCluster
from xds_server.telemetry.metrics import Metrics

LAG = LagQuery("default", "g", ("orders", "pay"))


class Plug:
    """An observer of someone else's, which ends by an error at first."""

    name = "plug"

    def __init__(self) -> None:
        self.runs = 0

    def want(self, queries: Iterable[Query]) -> None:
        raise NotImplementedError

    async def run(self, report: Report) -> None:
        self.runs += 1
        if self.runs == 1:
            raise RuntimeError
        report(self.observations())
        await asyncio.Event().wait()

    def observations(self) -> Sequence[Observation]:
        return [
            Observation(LAG, 7.0, 3.0, sampled=90.0, breaker="half_open"),
            Observation(LagQuery("default", "h"), None, unknown="no such group"),
            Observation(ValueQuery("up"), None, unknown="timeout", sampled=50.0, breaker="open"),
        ]


def test_sections_become_observers() -> None:
    settings = Settings.model_validate({"observers": {"kafka": {"clusters": {"a": {"bootstrap": "k"}}}}})
    (made,) = make_observers(settings, Metrics())
    assert isinstance(made, KafkaLag)
    assert made.name == "kafka"
    assert make_observers(Settings(), Metrics()) == []


def test_a_cluster_with_its_login() -> None:
    section = KafkaCluster.model_validate(
        {
            "bootstrap": "k-1,k-2:9093",
            "isolation": "read_committed",
            "security": {"protocol": "SASL_SSL", "username": "u", "password": "p", "check_hostname": False},
        }
    )
    login = Security("SASL_SSL", "SCRAM-SHA-512", "u", "p", check_hostname=False)
    assert _cluster(section) == ClusterOptions((("k-1", 9092), ("k-2", 9093)), login, read_committed=True)
    assert "'p'" not in repr(login)


async def test_gauges_tell_what_observers_know() -> None:
    metrics = Metrics()
    observe_observers(metrics, [Plug()], lambda: 100.0)
    text = (await metrics.render(""))[0].decode()
    assert 'tidegate_kafka_lag{cluster="default",group="g",topics="orders,pay"} 7.0' in text
    assert 'group="h"' not in text, "an unknown value has no lag"
    assert 'tidegate_observer_sample_age_seconds{key="default/g/orders,pay",observer="kafka"} 10.0' in text
    assert 'tidegate_observer_sample_age_seconds{key="up",observer="prometheus"} 50.0' in text
    assert 'key="default/h"' not in text, "what was never sampled has no age"
    assert 'tidegate_observer_breaker_state{observer="prometheus",state="open",target="prometheus"} 1.0' in text
    assert 'tidegate_observer_breaker_state{observer="prometheus",state="closed",target="prometheus"} 0.0' in text


@pytest.mark.looptime
async def test_an_observer_that_ends_by_an_error_is_begun_again() -> None:
    plug, told = Plug(), asyncio.Event()
    task = asyncio.create_task(run_observer(plug, lambda _: told.set()))
    await asyncio.wait_for(told.wait(), 10)
    assert plug.runs == 2
    task.cancel()
    await asyncio.wait([task])

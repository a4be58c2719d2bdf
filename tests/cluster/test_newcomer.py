"""What docs/kubernetes-install.md says comes true, word by word, for somebody who has a cluster and nothing else."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import aiohttp
import pytest

from tests.cluster.cluster import SHOP, Cluster, answered_by, load
from tests.kafka.broker import Kafka, missing
from tests.support.fleet import SLACK
from tests.support.kafka_data import commit, produce
from xds_server.demo.polling import until

GATEWAY = ("-n", SHOP, "dgw", "checkout")
TOPIC, GROUP = "orders", "orders-workers"
RECORDS = 600

PORT = 8090

SECOND = f"""
apiVersion: gateway.tidegate.dev/v1beta1
kind: DynamicGateway
metadata:
  name: second
  namespace: {SHOP}
  annotations: {{tidegate.dev/group: shop}}
spec:
  listeners: [{{name: second, port: {PORT}}}]
  routes: [{{name: all, path: /, backendService: checkout-lite}}]
"""

pytestmark = pytest.mark.usefixtures("shop")


async def test_requests_flow_through_a_real_envoy(cluster: Cluster) -> None:
    async with load(cluster) as sending:
        await answered_by(sending, "checkout")
        await asyncio.sleep(2)
    assert sending.failed == 0, sending.failures()


async def test_columns_say_whether_it_is_live_and_on_how_many_envoys(cluster: Cluster) -> None:
    """Of all replicas, whichever of them writes. Whether it is degraded nobody knows while there is no such group."""
    await _says(cluster, Ready="True", Envoys="2/2", Degraded="Unknown")


async def test_lag_on_a_real_kafka_degrades_it_and_columns_and_events_say_so(
    cluster: Cluster, kafka: Kafka | None
) -> None:
    if kafka is None:
        pytest.skip(missing())
    async with load(cluster) as sending:
        await answered_by(sending, "checkout")
        await produce(kafka.address(), {(TOPIC, 0): RECORDS})
        await commit(kafka.address(), GROUP, {(TOPIC, 0): 0})
        await answered_by(sending, "checkout-lite")
        await _says(cluster, Degraded="True")
        await commit(kafka.address(), GROUP, {(TOPIC, 0): RECORDS})
        await answered_by(sending, "checkout")
        await _says(cluster, Ready="True", Degraded="False")
    assert sending.failed == 0, sending.failures()
    told = await cluster.ask("-n", SHOP, "describe", "dgw", "checkout")
    _, _, events = told.partition("\nEvents:")
    assert "Degraded" in events
    assert "Recovered" in events


async def test_what_is_deleted_is_gone_from_envoys_too(cluster: Cluster) -> None:
    """A second gateway, on a port of its own: once `kubectl delete` has come back no Envoy listens there any more."""
    await asyncio.to_thread(cluster.kubectl, "apply", "-f", "-", given=SECOND)
    pods = cluster.get("-n", SHOP, "pods", "-l", "app=envoy")["items"]
    urls = [f"http://{pod['status']['podIP']}:{PORT}/" for pod in pods]
    await until(lambda: _all_answer(urls), within=20 * SLACK, what="all Envoys serve it")
    await cluster.ask("-n", SHOP, "delete", "dgw", "second")
    assert len(urls) == 2
    assert not any([await _answers(url) for url in urls])


async def _all_answer(urls: list[str]) -> bool:
    return all([await _answers(url) for url in urls])


async def _answers(url: str) -> bool:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        try:
            async with session.get(url) as response:
                return response.status == HTTPStatus.OK
        except aiohttp.ClientConnectionError:
            return False


async def _says(cluster: Cluster, **columns: str) -> None:
    """Wait until `kubectl get dgw` has these in its columns."""
    wanted = {name.upper(): value for name, value in columns.items()}
    seen: dict[str, str] = {}

    async def line() -> bool:
        seen.update(await asyncio.to_thread(cluster.columns, *GATEWAY))
        return wanted.items() <= seen.items()

    try:
        await until(line, within=20 * SLACK, what=f"`kubectl get dgw` says {wanted}", interval=0.5)
    except TimeoutError:
        pytest.fail(f"{wanted}: {seen}")

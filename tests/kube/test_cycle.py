"""From objects of a cluster to real Envoys: endpoints that move, and a route that follows the lag of a consumer group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.support import granted
from tests.support.fleet import SLACK, Fleet
from tests.support.kafka_mock import mock_cluster
from tests.support.kube import Kube
from tests.support.kube_shop import install
from tests.support.kube_world import KubeWorld, reachable, settings
from tests.support.lagging import LaggingGroup
from tests.support.watching import answers
from xds_server.demo.backends import Backend
from xds_server.demo.load import Load
from xds_server.demo.manifests import Manifest, gateway, listener_name, route
from xds_server.demo.polling import until

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(240)]


@pytest.fixture
def bootstrap(tmp_path: Path) -> Iterator[str]:
    with mock_cluster(tmp_path) as (_, address):
        yield address


@pytest.fixture
async def backends() -> AsyncIterator[tuple[Backend, ...]]:
    async with AsyncExitStack() as stack:
        made = [Backend(name, host=reachable()) for name in ("blue", "green", "red")]
        yield tuple([await stack.enter_async_context(each) for each in made])


async def test_endpoints_move_and_lag_degrades(
    kube: Kube, namespace: str, fleet: Fleet, backends: tuple[Backend, ...], bootstrap: str
) -> None:
    await asyncio.to_thread(install, kube)
    world, group = KubeWorld(kube, namespace), LaggingGroup(bootstrap, "orders", "orders-group")
    blue, green, red = backends
    await group.fill(1000)
    await group.lag(0)
    await world.put(*world.backend("orders", address=reachable(), port=blue.port))
    await world.put(*world.backend("lite", address=reachable(), port=green.port))
    await world.put(gateway(_follows(group), namespace=namespace))
    kafka = {"clusters": {"default": {"bootstrap": bootstrap}}, "interval": "500ms", "timeout": "1s", "ttl": "3s"}
    plane = fleet.tidegate(settings(granted.kubeconfig(kube, namespace), namespace, observers={"kafka": kafka}))
    await plane.start(within=20 * SLACK)
    envoys = await fleet.both(plane.xds)
    urls = {each.node: f"http://{await each.listener(listener_name('web', namespace))}/" for each in envoys}
    async with Load(urls, rate=50) as load:
        await _all_answer(urls, "blue")
        await world.put(*world.backend("orders", address=reachable(), port=red.port))
        await _all_answer(urls, "red")
        await group.lag(500)
        await _all_answer(urls, "green")
        status = (await plane.gateway(namespace, "web"))["routes"][0]
        assert (status["decision"], status["lag"]) == ("degraded", 500)
        await group.lag(0)
        await _all_answer(urls, "red")
    assert load.failed == 0, load.failures()


def _follows(group: LaggingGroup) -> Manifest:
    """A route that leads to service `lite` while the group lags."""
    return route(
        "orders",
        degradeService="lite",
        kafkaConsumerGroup=group.group,
        kafkaTopics=[group.topic],
        kafkaLagThreshold=100,
        minDwell="1s",
    )


async def _all_answer(urls: dict[str, str], name: str) -> None:
    for node, url in urls.items():
        await until(partial(answers, url, 200, name), within=10 * SLACK, what=f"{node} is answered by {name}")

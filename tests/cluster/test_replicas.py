"""Two replicas on a cluster: the one that writes is killed, and nobody notices but the Lease."""

from __future__ import annotations

import asyncio

import pytest

from tests.cluster.cluster import SHOP, SYSTEM, Cluster, answered_by, load
from tests.support.fleet import SLACK
from xds_server.demo.polling import until

LEASE = ("-n", SYSTEM, "lease", "tidegate")

pytestmark = pytest.mark.usefixtures("shop")


async def test_the_leader_is_killed_and_the_other_writes(cluster: Cluster) -> None:
    """It takes over within the time of the Lease; requests go on, and the next change is told by the new leader."""
    before = await until(lambda: _leader(cluster), within=20 * SLACK, what="a pod that is there leads", interval=0.5)
    async with load(cluster) as sending:
        await answered_by(sending, "checkout")
        await cluster.ask("-n", SYSTEM, "delete", "pod", before, "--grace-period=0", "--force")
        await until(lambda: _another(cluster, before), within=20 * SLACK, what="another replica leads", interval=0.5)
        change = '{"spec": {"policy": {"fullResyncInterval": "4m"}}}'
        await cluster.ask("-n", SHOP, "patch", "dgw", "checkout", "--type=merge", "-p", change)
        await until(lambda: _is_told(cluster), within=20 * SLACK, what="the change is in the status", interval=0.5)
    assert sending.failed == 0, sending.failures()


@pytest.mark.parametrize(("namespace", "deployment"), [(SYSTEM, "tidegate"), (SHOP, "envoy")])
async def test_all_pods_are_replaced_and_no_request_fails(cluster: Cluster, namespace: str, deployment: str) -> None:
    """Who is about to end is out of its Service before it ends, and who comes is ready before it is asked."""
    async with load(cluster) as sending:
        await answered_by(sending, "checkout")
        await cluster.ask("-n", namespace, "rollout", "restart", f"deployment/{deployment}")
        await cluster.ask("-n", namespace, "rollout", "status", f"deployment/{deployment}")
        await until(
            lambda: _none_ends(cluster, namespace), within=40 * SLACK, what="the last one has ended", interval=1
        )
        await asyncio.sleep(2)
    assert sending.failed == 0, sending.failures()


async def _none_ends(cluster: Cluster, namespace: str) -> bool:
    items = (await asyncio.to_thread(cluster.get, "-n", namespace, "pods"))["items"]
    return not any("deletionTimestamp" in each["metadata"] for each in items)


async def _leader(cluster: Cluster) -> str | None:
    """The pod that holds the Lease; None while it is free, or its holder is a pod that has been replaced."""
    holder = (await asyncio.to_thread(cluster.get, *LEASE))["spec"].get("holderIdentity") or ""
    items = (await asyncio.to_thread(cluster.get, "-n", SYSTEM, "pods"))["items"]
    pods: list[str] = [each["metadata"]["name"] for each in items if "deletionTimestamp" not in each["metadata"]]
    return next((pod for pod in pods if holder.startswith(pod)), None)


async def _another(cluster: Cluster, before: str) -> bool:
    holder = (await asyncio.to_thread(cluster.get, *LEASE))["spec"].get("holderIdentity") or before
    return not holder.startswith(before)


async def _is_told(cluster: Cluster) -> bool:
    found = await asyncio.to_thread(cluster.get, "-n", SHOP, "dgw", "checkout")
    told: int = found["status"]["observedGeneration"]
    return told == int(found["metadata"]["generation"])

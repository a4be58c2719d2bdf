"""K46: every replica serves, one writes. Who writes, and when, is taken from the API server's own audit log."""

from __future__ import annotations

import asyncio
import signal
import time
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.conformance.client import Stream
from tests.support.kube import StartKube
from tests.support.kube_audit import AuditLog, Written
from tests.support.kube_client import Object
from tests.support.kube_shop import SLACK, Shop, backend, gateway, install, opened, until

KIND = "dynamicgateways"

SERVED = 1.0
"""Seconds within which each Envoy has a route."""

DURATION = 3.0
TAKEOVER = DURATION + 0.5 * 2.2
"""Seconds of a lease, and until it is tried for the next time; see `kube_shop.LEASE`."""


async def served(streams: list[Stream], name: str, began: float) -> None:
    """Each Envoy has the virtual host of a gateway, soon enough."""
    for stream in streams:
        stream.ask("rds", *stream.names_of("rds"), "http-8080")

    def all_have() -> bool:
        return all(f"{name}.example".encode() in b"".join(each.holds.get("rds", {}).values()) for each in streams)

    while not all_have():
        assert time.monotonic() - began < SERVED * SLACK, f"{name} is not served"
        await asyncio.sleep(0.02)


async def writers(audit: AuditLog, shop: Shop) -> list[int]:
    """Which of the planes have written a status."""
    return [place for place, each in enumerate(shop.credentials) if audit.writes(each, f"{KIND}/status")]


def leases(audit: AuditLog, credential: str) -> list[Written]:
    """The writes of the Lease that went well."""
    return [each for each in audit.writes(credential, "leases") if each.code == HTTPStatus.OK]


@pytest.mark.timeout(240)
async def test_k46_followers_serve_and_the_leader_writes(own_kube: StartKube, tmp_path: Path) -> None:
    audit = AuditLog(tmp_path)
    kube = await asyncio.to_thread(own_kube, *audit.flags)
    await asyncio.to_thread(install, kube)
    async with opened(kube, "default", tmp_path) as shop:
        await shop.apply(*backend("default"))
        leader = await shop.plane()
        await led(shop)
        follower = await shop.plane()
        streams = [await shop.envoy(leader, "envoy-1"), await shop.envoy(follower, "envoy-2")]

        began = time.monotonic()
        await shop.apply(gateway("default", "first"))
        await served(streams, "first", began)
        await shop.told("first", "Accepted", "True")
        assert await writers(audit, shop) == [0]

        await shop.apply(gateway("default", "left"))
        leader.child.signal(signal.SIGKILL)
        killed, began = time.time(), time.monotonic()
        await leader.child.wait(10)
        await shop.apply(gateway("default", "second"))
        await served(streams[1:], "second", began)
        for name in ("left", "second"):
            await shop.told(name, "Accepted", "True", within=TAKEOVER + 2)
        before, after = (audit.writes(each, KIND) for each in shop.credentials)
        assert before[-1].ended < after[0].began
        last, taken = leases(audit, shop.credentials[0])[-1], leases(audit, shop.credentials[1])[0]
        assert taken.began - last.began >= DURATION, "its lease lasts as long as it says"
        assert after[0].began > taken.began, "nobody may write in the gap"
        assert after[0].began - killed < TAKEOVER * SLACK
        assert {each.name for each in after if each.what.endswith("/status")} >= {"second"}
        written = [each.name for each in after if each.what.endswith("/status")]
        assert "first" not in written, "what was done is not done again"


@pytest.mark.timeout(240)
async def test_a_leader_that_was_stopped_for_too_long_writes_nothing_when_it_goes_on(
    own_kube: StartKube, tmp_path: Path
) -> None:
    audit = AuditLog(tmp_path)
    kube = await asyncio.to_thread(own_kube, *audit.flags)
    await asyncio.to_thread(install, kube)
    async with opened(kube, "default", tmp_path) as shop:
        await shop.apply(*backend("default"))
        first = await shop.plane()
        await led(shop)
        await shop.plane()
        await shop.apply(gateway("default", "edge"))
        await shop.told("edge", "Accepted", "True")
        first.child.signal(signal.SIGSTOP)
        try:
            await shop.apply(gateway("default", "edge", backend="nowhere"))
            await shop.told("edge", "Resolved", "False", generation=2, within=TAKEOVER + 4)
        finally:
            first.child.signal(signal.SIGCONT)
        await shop.apply(gateway("default", "edge"))
        await shop.told("edge", "Resolved", "True", generation=3)
        await asyncio.sleep(2)
        before, after = (audit.writes(each, KIND) for each in shop.credentials)
        assert before[-1].ended < after[0].began


async def led(shop: Shop) -> Object:
    """Wait until somebody has the Lease."""

    async def lease() -> Object | None:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{shop.namespace}/leases"
        items = (await asyncio.to_thread(shop.kube.client.request, "GET", path))["items"]
        return next((each for each in items if each["spec"].get("holderIdentity")), None)

    return await until(lease, 10, "somebody leads")

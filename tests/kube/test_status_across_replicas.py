"""The status of a DynamicGateway with three replicas and thirty Envoys: the leader writes what is so on all, also when it dies."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.client import accept, hold
from tests.support.addresses import no_addresses, own_addresses
from tests.support.kube import Kube, kept_ports
from tests.support.kube_client import Object
from tests.support.kube_shop import Shop, backend, condition, gateway, install, until
from tests.support.replicas import FakeEnvoy

NAME = "edge"
SERVICE = "tidegate-peers"
ENVOYS = 30

pytestmark = [pytest.mark.timeout(300), pytest.mark.skipif(bool(no_addresses()), reason=no_addresses())]


class Fleet:
    """Three replicas behind a Service, thirty Envoys spread over them, and all that the object's status has said."""

    def __init__(self, shop: Shop, addresses: list[str], stack: AsyncExitStack) -> None:
        self.shop = shop
        self.envoys: list[FakeEnvoy] = []
        self.said: list[tuple[str, str, str]] = []
        """Status and message of Programmed, and the last version that all had."""
        self._pods = {f"tidegate-{number}": address for number, address in enumerate(addresses)}
        (self._port,) = kept_ports(1)
        self._stack = stack

    async def start(self) -> None:
        """Start the replicas, then the Envoys: the first of every three is on the first replica, and so on."""
        await self.listed(*self._pods)
        for name, address in self._pods.items():
            replicas = {"service": SERVICE, "namespace": self.shop.namespace, "name": name}
            await self.shop.plane(settings={"admin": {"address": f"{address}:{self._port}"}, "replicas": replicas})
        for number in range(ENVOYS):
            envoy = FakeEnvoy()
            self.envoys.append(envoy)
            self._stack.push_async_callback(envoy.leave)
            await envoy.connect(self.shop.planes[number % 3].xds)

    async def listed(self, *names: str) -> None:
        """Have the Service lead to these pods."""
        endpoints = [{"addresses": [self._pods[name]], "targetRef": {"kind": "Pod", "name": name}} for name in names]
        body: Object = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": f"{SERVICE}-1",
                "namespace": self.shop.namespace,
                "labels": {"kubernetes.io/service-name": SERVICE},
            },
            "addressType": "IPv4",
            "ports": [{"name": "admin", "port": self._port}],
            "endpoints": endpoints,
        }
        await self.shop.apply(body)

    async def leader(self) -> int:
        """Which replica leads."""

        async def found() -> list[int] | None:
            told = [(await plane.get("/v1/replica"))["leader"] for plane in self.shop.planes]
            return [told.index(True)] if True in told else None

        (number,) = await until(found, 10, "somebody leads")
        return number

    async def watch(self) -> None:
        """Read the object's status again and again, until cancelled."""
        while True:
            body = await self.shop.get(NAME)
            met = condition(body, "Programmed")
            if met:
                self.said.append((met["status"], met["message"], body["status"].get("lastAckedVersion") or ""))
            await asyncio.sleep(0.05)

    async def programmed(self, status: str, message: str) -> Object:
        """Wait until the condition says so."""

        async def found() -> Object | None:
            met = condition(await self.shop.get(NAME), "Programmed")
            return met if met.get("status") == status and message in met["message"] else None

        return await until(found, 15, f"{status}: {message} (last: {self.said[-1:]})")

    async def change(self, path: str) -> None:
        """Declare the gateway with another path."""
        body = gateway(self.shop.namespace, NAME)
        body["spec"]["routes"][0]["path"] = path
        await self.shop.apply(body)

    def everywhere(self) -> set[str]:
        """The versions that were ever said to be everywhere."""
        told = {found[1] for each in self.said if each[0] == "True" and (found := re.search(r"version (\w+)", each[1]))}
        acked = {each[2][:8] for each in self.said} - {""}
        return told | acked


async def test_the_status_is_true_of_all_replicas_also_when_the_leader_dies(
    kube: Kube, namespace: str, tmp_path: Path
) -> None:
    await asyncio.to_thread(install, kube)
    async with AsyncExitStack() as stack:
        addresses = stack.enter_context(own_addresses(3))
        fleet = Fleet(Shop(kube, namespace, tmp_path, stack), addresses, stack)
        await fleet.shop.apply(*backend(namespace), gateway(namespace, NAME))
        await fleet.start()
        watching = asyncio.create_task(fleet.watch())
        stack.push_async_callback(_end, watching)

        met = await fleet.programmed("True", f"all {ENVOYS} Envoys on 3 replicas have accepted version")
        proven = {met["message"][-8:], *fleet.everywhere()}

        # One Envoy of a replica that does not lead is slow.
        leader = await fleet.leader()
        slow = fleet.envoys[(leader + 1) % 3]
        slow.answer = hold
        await fleet.change("/two")
        met = await fleet.programmed("False", f"1 of {ENVOYS} Envoys on 3 replicas have not accepted all of version")
        assert fleet.everywhere() <= proven, fleet.said
        proven.add(_version(met))
        slow.answer = accept
        _catch_up(slow)
        await fleet.programmed("True", f"all {ENVOYS} Envoys on 3 replicas have accepted version {_version(met)}")

        # The leader dies. The next one does not know what the Envoys of that one have, and says so.
        await fleet.shop.planes[leader].child.kill()
        await fleet.change("/three")
        others = [number for number in range(3) if number != leader]
        await fleet.programmed("Unknown", f"replica tidegate-{leader}: it can't be reached")
        for envoy in fleet.envoys[leader::3]:
            await envoy.connect(fleet.shop.planes[others[0]].xds)
        met = await fleet.programmed("Unknown", f"all {ENVOYS} Envoys on 2 replicas have accepted version")
        assert fleet.everywhere() <= proven, fleet.said
        proven.add(_version(met))
        await fleet.listed(*(f"tidegate-{number}" for number in others))
        await fleet.programmed("True", f"all {ENVOYS} Envoys on 2 replicas have accepted version {_version(met)}")
        assert fleet.everywhere() <= proven, fleet.said


def _version(met: Any) -> str:
    found = re.findall(r"version (\w+)", met["message"])
    return str(found[-1])


def _catch_up(envoy: FakeEnvoy) -> None:
    stream = envoy.stream
    assert stream is not None
    for response in {each.key: each for each in stream.received}.values():
        stream.ack(response)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

"""Replicas that find each other by the EndpointSlices of their Service, and know each other by their ServiceAccount."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support import granted
from tests.support.addresses import no_addresses, own_addresses
from tests.support.fleet import SLACK
from tests.support.kube import Kube, kept_ports
from tests.support.replicas import BACKEND, Crowd, FakeEnvoy
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import write_documents

AUDIENCE = "tidegate-peer"
READER = "planted-reader-0123456789"
SERVICE = "tidegate-peers"

pytestmark = [pytest.mark.timeout(240), pytest.mark.skipif(bool(no_addresses()), reason=no_addresses())]


def endpoint_slice(namespace: str, port: int, pods: dict[str, str]) -> dict[str, Any]:
    """Where these pods are: name and address."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{SERVICE}-1",
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": SERVICE},
        },
        "addressType": "IPv4",
        "ports": [{"name": "admin", "port": port}],
        "endpoints": [
            {"addresses": [address], "conditions": {"ready": False}, "targetRef": {"kind": "Pod", "name": name}}
            for name, address in pods.items()
        ],
    }


class Place:
    """Three replicas as pods behind a Service, and the API server that knows of them."""

    def __init__(self, kube: Kube, namespace: str, folder: Path, addresses: Sequence[str]) -> None:
        self.kube = kube
        self.namespace = namespace
        self.folder = folder
        (self.port,) = kept_ports(1)
        self.pods = {f"tidegate-{number}": address for number, address in enumerate(addresses)}
        self.crowd = Crowd([self._plane(name) for name in self.pods], folder / "files")

    async def list(self, *names: str) -> None:
        """Have the Service lead to these pods."""
        pods = {name: self.pods[name] for name in names}
        await asyncio.to_thread(self.kube.client.apply, endpoint_slice(self.namespace, self.port, pods))

    def _plane(self, name: str) -> ControlPlane:
        settings = {
            "admin": {"address": f"{self.pods[name]}:{self.port}", "tokens": {"reader": str(self.folder / "reader")}},
            "sources": [
                {"kind": "files", "path": str(self.folder / "files")},
                {
                    "kind": "kubernetes",
                    "kubeconfig": str(granted.kubeconfig(self.kube, self.namespace)),
                    "namespaces": [self.namespace],
                },
            ],
            "replicas": {
                "name": name,
                "service": SERVICE,
                "namespace": self.namespace,
                "token_file": str(self.folder / "token"),
                "audience": AUDIENCE,
            },
        }
        return ReaderPlane(self.folder / name, settings=settings)


class ReaderPlane(ControlPlane):
    """One that is asked with the token of a reader."""

    async def request(self, path: str) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {READER}"}
        async with aiohttp.ClientSession() as session, session.get(self.admin + path, headers=headers) as response:
            return response.status, await response.text()


@asynccontextmanager
async def placed(kube: Kube, namespace: str, folder: Path) -> AsyncIterator[Place]:
    """Three replicas that run, with an Envoy each."""
    async with AsyncExitStack() as stack:
        addresses = stack.enter_context(own_addresses(3))
        (folder / "files").mkdir()
        (folder / "reader").write_text(READER)
        token = await asyncio.to_thread(kube.token, namespace, "tidegate", audience=AUDIENCE)
        (folder / "token").write_text(token)
        place = Place(kube, namespace, folder, addresses)
        write_documents(folder / "files" / "backend.yaml", list(BACKEND))
        place.crowd.declare()
        await place.list(*place.pods)
        for plane in place.crowd.planes:
            stack.push_async_callback(plane.stop)
        await asyncio.gather(*(plane.start(within=40) for plane in place.crowd.planes))
        for plane in place.crowd.planes:
            envoy = FakeEnvoy()
            stack.push_async_callback(envoy.leave)
            await envoy.connect(plane.xds)
        yield place


async def test_replicas_follow_the_endpoint_slices_of_their_service(kube: Kube, namespace: str, tmp_path: Path) -> None:
    async with placed(kube, namespace, tmp_path) as place:
        crowd = place.crowd
        for number in range(3):
            await crowd.says(number, "True", "all 3 Envoys on 3 replicas have accepted", within=10)
        await crowd.planes[2].child.kill()
        for number in range(2):
            await crowd.says(number, "Unknown", "replica tidegate-2: it can't be reached")
        await place.list("tidegate-0", "tidegate-1")
        for number in range(2):
            await crowd.says(number, "True", "all 2 Envoys on 2 replicas have accepted", within=10)
        # Whom the Service does not lead to is not known to the others, so it can't speak for all.
        await place.list("tidegate-1")
        await crowd.says(0, "Unknown", "tidegate-0 is no pod behind Service", within=10)
        await crowd.says(1, "True", "all 1 Envoys have accepted", within=10)


async def test_who_may_read_what_replicas_tell(kube: Kube, namespace: str, tmp_path: Path) -> None:
    async with placed(kube, namespace, tmp_path) as place:
        plane = place.crowd.planes[0]
        tokens = {
            "ours": (tmp_path / "token").read_text(),
            "stranger": await asyncio.to_thread(kube.token, namespace, "stranger", audience=AUDIENCE),
            "for another": await asyncio.to_thread(kube.token, namespace, "tidegate", audience="another"),
            "reader": READER,
            "none": "",
        }

        async def status(who: str, path: str) -> int:
            headers = {"Authorization": f"Bearer {tokens[who]}"} if tokens[who] else {}
            async with aiohttp.ClientSession() as session, session.get(plane.admin + path, headers=headers) as response:
                return response.status

        assert {who: await status(who, "/v1/replica") for who in tokens} == {
            "ours": 200,
            "stranger": 401,
            "for another": 401,
            "reader": 200,
            "none": 401,
        }
        assert await status("ours", "/v1/nodes") == 401, "a replica reads what replicas tell, and nothing else"

        async def up() -> bool:
            text = (await plane.request("/metrics"))[1]
            return all(f'tidegate_replica_up{{replica="tidegate-{number}"}} 1.0' in text for number in (1, 2))

        await until(up, within=5 * SLACK, what="the others are heard")

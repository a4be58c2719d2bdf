"""A namespace of a cluster, a Tidegate that serves what is declared in it, and what should come of it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

from k8s_source.client.resource import DYNAMIC_GATEWAYS, ENDPOINT_SLICES, SECRETS, SERVICES, Resource
from k8s_source.informer.wire import object_of, page_of
from k8s_source.kinds.items import ItemDecoder
from tests.support.fleet import SLACK
from tests.support.kube import Kube
from tests.support.kube_client import RefusedError
from xds_server.app.model import GatewayModel
from xds_server.demo.control_plane import ControlPlane, Json
from xds_server.demo.manifests import Manifest, endpoint_slice, gateway, route, service
from xds_server.demo.polling import until
from xds_server.ir.declared import Unit
from xds_server.ir.objects import Object
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes

_READ = (
    (SERVICES, ""),
    (ENDPOINT_SLICES, ""),
    (SECRETS, "?fieldSelector=type%3Dkubernetes.io/tls"),
    (DYNAMIC_GATEWAYS, ""),
)


def reachable() -> str:
    """An address of this machine that API servers take in slices: they refuse loopback ones."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # nothing is sent
        return str(probe.getsockname()[0])


def settings(kubeconfig: Path, namespace: str, **more: Any) -> Json:
    """Sections of a configuration file, with one source: a namespace of a cluster. `more` are further sections."""
    entry = {"kind": "kubernetes", "kubeconfig": str(kubeconfig), "namespaces": [namespace]}
    return {"sources": [entry], **more}


class KubeWorld:
    """What is declared in a namespace. Calls of the API server are made in threads."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self.kube = kube
        self.namespace = namespace

    async def put(self, *manifests: Manifest) -> None:
        """Apply these."""
        await asyncio.to_thread(self.kube.apply, list(manifests))

    async def led_elsewhere(self) -> Json:
        """The section `kubernetes` of a Tidegate that never leads: someone holds the Lease, so it writes nothing."""
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "held", "namespace": self.namespace},
            "spec": {
                "holderIdentity": "someone",
                "leaseDurationSeconds": 3600,
                "renewTime": "2026-01-01T00:00:00.000000Z",
            },
        }
        await self.put(lease)
        return {"leader_election": {"name": "held", "namespace": self.namespace}}

    async def drop(self, *manifests: Manifest) -> None:
        """Delete these."""
        for each in manifests:
            await asyncio.to_thread(self.kube.client.delete, each)

    async def is_gone(self, manifest: Manifest) -> bool:
        """Whether an object is there no more: finalizers may keep it for a while."""
        metadata = manifest["metadata"]
        where = (manifest["apiVersion"], manifest["kind"], metadata["name"], metadata.get("namespace", ""))
        try:
            await asyncio.to_thread(self.kube.client.get, *where)
        except RefusedError as error:
            return error.code == HTTPStatus.NOT_FOUND
        return False

    def backend(self, name: str, *, address: str = "10.1.0.1", port: int = 8080) -> list[Manifest]:
        """A Service with one endpoint, where nobody need be."""
        found = endpoint_slice(name, port=port, address=address, namespace=self.namespace)
        return [service(name, namespace=self.namespace), found]

    def gateway(self, name: str, *services: str, **spec: Any) -> Manifest:
        """A gateway with a route to each of these services."""
        routes = [route(each, f"/{each}") for each in services]
        return gateway(*routes, name=name, namespace=self.namespace, **spec)

    async def expected(self) -> str:
        """The version of the group `default` that is a function of what the API server lists now, and of nothing else."""
        return await asyncio.to_thread(self._expected)

    def _expected(self) -> str:
        objects = [found for resource, query in _READ for found in self._listed(resource, query)]
        units = {str(each.key): Unit(str(each.key), objects=(each,)) for each in objects}
        made = Assembler(decode, prune_routes, deriving=GatewayModel()).apply(
            [Batch(0, "kubernetes", units)], time.time()
        )
        return next((snapshot.version for snapshot in made if snapshot.group == "default"), "")

    def _listed(self, resource: Resource, query: str) -> Iterable[Object]:
        with suppress(RefusedError):  # a kind that is not there
            body = self.kube.client.raw("GET", resource.path(self.namespace) + query)
            yield from self._decoded(body, resource)

    @staticmethod
    def _decoded(body: bytes, resource: Resource) -> Iterable[Object]:
        decoder = ItemDecoder("kubernetes", resource.api_version, resource.kind)
        for raw in page_of(body).items or ():
            whole = object_of(raw, resource)
            if whole.meta.deleted and resource is DYNAMIC_GATEWAYS:
                continue
            found = decoder(whole.body)
            assert isinstance(found, Object), found
            yield found

    async def served(self, plane: ControlPlane, within: float = 10.0) -> float:
        """Wait until what is served is what should be; the seconds that took."""
        wanted, began = await self.expected(), time.monotonic()

        async def is_so() -> bool:
            return bool((await plane.group()).get("version") == wanted)

        await until(is_so, within=within * SLACK, what=f"version {wanted} is served", interval=0.05)
        return time.monotonic() - began


async def counts(plane: ControlPlane, kind: str) -> list[int]:
    """How many resources of a type each version had, newest first."""
    found = await plane.get("/v1/groups/default/versions")
    return [each["counts"][kind] for each in found["versions"]]


async def source(plane: ControlPlane) -> Json:
    """How the source fares."""
    found: Json = (await plane.get("/v1/sources"))["sources"][0]
    return found


async def metric(plane: ControlPlane, line: str) -> float:
    """The value of a sample, by all that stands before it."""
    _, text = await plane.request("/metrics")
    return next(float(each.rpartition(" ")[2]) for each in text.splitlines() if each.startswith(f"{line} "))

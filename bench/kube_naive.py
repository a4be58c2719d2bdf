"""A naive reader of a cluster, to compare with: the client library's models and watches, and everything anew at each change.

`python -m bench.kube_naive KUBECONFIG` prints a line of JSON when it has started, and one each time that it has made
everything: the address of the first endpoint of `slice-0`, which the benchmark moves.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import msgspec
from kubernetes_asyncio import client, config, watch

from bench.kube_world import NAMESPACE
from k8s_source.kinds.decode import decode_manifest
from xds_server.app.model import GatewayModel
from xds_server.ir.declared import Unit
from xds_server.ir.objects import Object
from xds_server.ir.origin import Origin
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes

_GROUP = ("gateway.tidegate.dev", "v1alpha1", NAMESPACE, "dynamicgateways")
_QUIET, _GATHERED = 0.01, 1.0
"""Seconds."""


class Naive:
    """All objects as the library's models (those of a CRD as dicts), by kind and name."""

    def __init__(self, api: client.ApiClient, tasks: asyncio.TaskGroup) -> None:
        """`tasks` has the watches: one that fails ends the reader, or it would look like one that has fallen behind."""
        self._api = api
        self._tasks = tasks
        self._changed = asyncio.Event()
        self.objects: dict[tuple[str, str], Any] = {}

    async def follow(self, kind: str, version: str, read: Any, *where: str) -> None:
        """List a kind, and have it watched from there."""
        found = await read(*where)
        items = found["items"] if isinstance(found, dict) else found.items
        metadata = found["metadata"] if isinstance(found, dict) else found.metadata
        for item in items:
            self._take(kind, version, item)
        start = metadata["resourceVersion"] if isinstance(metadata, dict) else metadata.resource_version
        self._tasks.create_task(self._watch(kind, version, start, read, *where))

    async def _watch(self, kind: str, version: str, start: str, read: Any, *where: str) -> None:
        async with watch.Watch() as events:
            async for event in events.stream(read, *where, resource_version=start):
                if event["type"] != "BOOKMARK":
                    self._take(kind, version, event["object"])
                    self._changed.set()

    def _take(self, kind: str, version: str, item: Any) -> None:
        name = item["metadata"]["name"] if isinstance(item, dict) else item.metadata.name
        self.objects[kind, name] = (version, item)

    async def gather(self) -> None:
        """Wait for a change, and for what comes behind it: until there is nothing for 10 ms, for a second at most."""
        await self._changed.wait()
        end = time.monotonic() + _GATHERED
        while self._changed.is_set() and time.monotonic() < end:
            self._changed.clear()
            await asyncio.sleep(_QUIET)

    def make(self) -> str:
        """Everything anew; the address that is watched."""
        units = {}
        for (kind, name), (version, item) in self.objects.items():
            body = self._api.sanitize_for_serialization(item) | {"apiVersion": version, "kind": kind}
            found = decode_manifest(body, Origin("naive"), "default")
            if isinstance(found, Object):
                units[f"{kind}/{name}"] = Unit(f"{kind}/{name}", objects=(found,))
        Assembler(decode, prune_routes, deriving=GatewayModel()).apply([Batch(0, "naive", units)], time.time())
        first = self.objects["EndpointSlice", "slice-0"][1]
        return str(first.endpoints[0].addresses[0])


def _say(**told: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(told) + b"\n")
    sys.stdout.buffer.flush()


async def _run(kubeconfig: str) -> None:
    _say(started=True)
    await config.load_kube_config(kubeconfig)
    async with client.ApiClient() as api, asyncio.TaskGroup() as tasks:
        naive = Naive(api, tasks)
        core, slices, custom = client.CoreV1Api(api), client.DiscoveryV1Api(api), client.CustomObjectsApi(api)
        await naive.follow("Service", "v1", core.list_namespaced_service, NAMESPACE)
        await naive.follow("Secret", "v1", core.list_namespaced_secret, NAMESPACE)
        await naive.follow("EndpointSlice", "discovery.k8s.io/v1", slices.list_namespaced_endpoint_slice, NAMESPACE)
        await naive.follow("DynamicGateway", "/".join(_GROUP[:2]), custom.list_namespaced_custom_object, *_GROUP)
        while True:
            _say(address=naive.make())
            await naive.gather()


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1]))

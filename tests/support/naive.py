"""A deliberately naive ADS server: it sends each type at once, clusters first, and waits for no ACK.

It is what a control plane without a sequencer does, and the control of the tests for make before break: the
same load that passes with Tidegate must fail here, or the tests prove nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Self

import grpc
import grpc.aio
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.access_loggers.stream.v3 import stream_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2
from google.protobuf import any_pb2, json_format

from xds_server.demo.world import Document

ORDER = (
    cluster_pb2.Cluster.DESCRIPTOR.full_name,
    endpoint_pb2.ClusterLoadAssignment.DESCRIPTOR.full_name,
    listener_pb2.Listener.DESCRIPTOR.full_name,
    route_pb2.RouteConfiguration.DESCRIPTOR.full_name,
)
"""The order in which the types are sent on a change: the naive one."""

KNOWN = (stream_pb2, router_pb2, http_connection_manager_pb2)
"""Imported so that the messages inside the documents can be read."""


class NaiveServer(ads_pb2_grpc.AggregatedDiscoveryServiceServicer):  # type: ignore[misc]
    """Serves one set of documents to every SotW stream. `pause` is the time in seconds between two types."""

    def __init__(self, pause: float = 0.2, credentials: grpc.ServerCredentials | None = None) -> None:
        self.address = ""
        self._pause = pause
        self._resources: dict[str, list[any_pb2.Any]] = {name: [] for name in ORDER}
        self._version = 0
        self._streams: set[asyncio.Queue[str]] = set()
        self._server = grpc.aio.server()
        self._credentials = credentials

    async def __aenter__(self) -> Self:
        ads_pb2_grpc.add_AggregatedDiscoveryServiceServicer_to_server(self, self._server)
        port = (
            self._server.add_insecure_port("127.0.0.1:0")
            if self._credentials is None
            else self._server.add_secure_port("127.0.0.1:0", self._credentials)
        )
        self.address = f"127.0.0.1:{port}"
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.stop(grace=0)

    async def publish(self, documents: Sequence[Document]) -> None:
        """Replace everything by `documents` and send each changed type in turn."""
        fresh: dict[str, list[any_pb2.Any]] = {name: [] for name in ORDER}
        for document in documents:
            packed = json_format.ParseDict(document, any_pb2.Any())
            fresh[packed.TypeName()].append(packed)
        self._version += 1
        for name in ORDER:
            if fresh[name] != self._resources[name]:
                self._resources[name] = fresh[name]
                for stream in self._streams:
                    stream.put_nowait(name)
                await asyncio.sleep(self._pause)

    async def StreamAggregatedResources(  # noqa: N802 - the service's name
        self, requests: AsyncIterator[discovery_pb2.DiscoveryRequest], context: Any
    ) -> AsyncIterator[discovery_pb2.DiscoveryResponse]:
        """One Envoy: answer what it newly asks for, and whatever `publish` queues."""
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._streams.add(queue)
        reader = asyncio.create_task(self._read(requests, queue))
        try:
            while True:
                yield self._response(await queue.get())
        finally:
            reader.cancel()
            self._streams.discard(queue)

    async def _read(self, requests: AsyncIterator[discovery_pb2.DiscoveryRequest], queue: asyncio.Queue[str]) -> None:
        subscribed: dict[str, set[str]] = {}
        async for request in requests:
            names = set(request.resource_names)
            if subscribed.get(request.type_url) != names:
                subscribed[request.type_url] = names
                queue.put_nowait(request.type_url.rpartition("/")[2])

    def _response(self, name: str) -> discovery_pb2.DiscoveryResponse:
        return discovery_pb2.DiscoveryResponse(
            version_info=str(self._version),
            nonce=str(self._version),
            type_url=f"type.googleapis.com/{name}",
            resources=self._resources.get(name, []),
        )

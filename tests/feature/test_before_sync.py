"""Before every source has been read once, streams are taken and nothing is sent: half a world would wipe the clients."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.conformance.documents import marked
from tests.conformance.wire import BOTH, MAIN, node_of, sotw_request
from tests.feature.inprocess import inside
from xds_server.wire.types import CLUSTER

FETCH = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters"


async def test_nothing_is_sent_before_all_sources_are_synced() -> None:
    async with inside(synced=False) as server, AsyncExitStack() as stack:
        clients = server.clients(stack)
        streams = [await clients.stream(variant) for variant in BOTH]
        for stream in streams:
            for key in MAIN:
                stream.ask(key, "a")
            stream.ask("cds", "a", "b")
        await asyncio.gather(*(stream.quiet() for stream in streams))
        assert server.groups.get("default") is not None
        server.publish([marked(key, name, 1) for key in MAIN for name in ("a", "b")])
        server.groups.set_synced()
        for stream in streams:
            await stream.holding("cds", {"a": 1, "b": 1})
            await stream.holding("eds", {"a": 1})
            assert len(stream.of("cds")) == 1, "what was asked meanwhile is answered once"


async def test_health_and_fetches_before_all_sources_are_synced() -> None:
    async with inside(synced=False) as server, AsyncExitStack() as stack:
        channel = await server.clients(stack).channel()
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        fetch: Any = channel.unary_unary(FETCH)
        request = sotw_request("cds", node=node_of("early")).SerializeToString()
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await fetch(request)
        assert error.value.code() is grpc.StatusCode.UNAVAILABLE
        server.groups.set_synced()
        await server.server.set_serving(serving=True)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        assert CLUSTER.encode() in await fetch(request)


async def test_a_group_without_anything_is_answered_once_all_is_synced() -> None:
    async with inside(synced=False) as server, AsyncExitStack() as stack:
        streams = [await server.clients(stack).stream(variant) for variant in BOTH]
        for stream in streams:
            stream.ask("cds")
            stream.ask("eds", "a")
        await asyncio.sleep(0.2)
        server.groups.set_synced()
        for stream in streams:
            response = await stream.next("cds")
            assert not response.names
            assert not response.removed

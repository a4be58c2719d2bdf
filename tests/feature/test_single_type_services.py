"""The services of one type each: streams, incremental streams and fetches; none takes another type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message

from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import MESSAGES, Variant, delta_request, marks_of, node_of, read, sotw_request
from tests.feature.many import each


@dataclass(frozen=True, slots=True)
class Service:
    """A discovery service and the end of its methods' names; VHDS is incremental only."""

    key: str
    name: str
    plural: str

    def method(self, kind: str) -> str:
        """The path of `Stream…`, `Delta…` or `Fetch…`."""
        return f"/envoy.service.{self.name}/{kind}{self.plural}"


SERVICES = (
    Service("cds", "cluster.v3.ClusterDiscoveryService", "Clusters"),
    Service("eds", "endpoint.v3.EndpointDiscoveryService", "Endpoints"),
    Service("lds", "listener.v3.ListenerDiscoveryService", "Listeners"),
    Service("rds", "route.v3.RouteDiscoveryService", "Routes"),
    Service("sds", "secret.v3.SecretDiscoveryService", "Secrets"),
    Service("srds", "route.v3.ScopedRoutesDiscoveryService", "ScopedRoutes"),
    Service("rtds", "runtime.v3.RuntimeDiscoveryService", "Runtime"),
    Service("ecds", "extension.v3.ExtensionConfigDiscoveryService", "ExtensionConfigs"),
)
VIRTUAL_HOSTS = Service("vhds", "route.v3.VirtualHostDiscoveryService", "VirtualHosts")

STREAMS = [(Variant.SOTW, "Stream", each) for each in SERVICES]
STREAMS += [(Variant.DELTA, "Delta", each) for each in (*SERVICES, VIRTUAL_HOSTS)]

NAMED = {f"{kind}{service.plural}": (variant, kind, service) for variant, kind, service in STREAMS}
services = pytest.mark.parametrize("service", SERVICES, ids=[each.key for each in SERVICES])


async def test_a_stream_of_one_type(server: Server, clients: Clients) -> None:
    async def check(name: str) -> None:
        variant, kind, service = NAMED[name]
        world = server.world()
        world.write("all", *(marked(key, "a", 1) for key in MESSAGES))
        stream = await clients.stream(variant, world, method=service.method(kind))
        stream.ask(service.key, "a")
        await stream.holding(service.key, {"a": 1})
        world.write("all", *(marked(key, "a", 2) for key in MESSAGES))
        await stream.holding(service.key, {"a": 2})
        assert {response.key for response in stream.received} == {service.key}

    await each(NAMED, check)


async def test_another_type_on_a_stream_of_one_type(server: Server, clients: Clients) -> None:
    async def check(name: str) -> None:
        variant, kind, service = NAMED[name]
        stream = await clients.stream(variant, server.world(), method=service.method(kind))
        stream.ask("eds" if service.key == "cds" else "cds", "a")
        code, details = await stream.end(within=2)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert "type_url" in details

    await each(NAMED, check)


async def test_no_type_on_a_stream_of_one_type_means_its_own(server: Server, clients: Clients) -> None:
    async def check(name: str) -> None:
        variant, kind, service = NAMED[name]
        world = server.world()
        world.write("a", marked(service.key, "a", 1))
        stream = await clients.stream(variant, world, method=service.method(kind))
        make = sotw_request if variant is Variant.SOTW else delta_request
        request = make(service.key, ["a"])
        request.type_url = ""  # type: ignore[attr-defined]
        stream.names[service.key] = {"a"}
        stream.send(request)
        await stream.holding(service.key, {"a": 1})

    await each(NAMED, check)


async def _fetch(channel: grpc.aio.Channel, service: Service, request: Message | bytes) -> dict[str, str | None]:
    """Name → mark of what a fetch answers."""
    call: Any = channel.unary_unary(service.method("Fetch"))
    raw = await call(request if isinstance(request, bytes) else request.SerializeToString())
    response = read(Variant.SOTW, raw, 0)
    assert response.key == service.key
    return marks_of(response.resources)


@services
async def test_a_fetch(server: Server, clients: Clients, world: World, service: Service) -> None:
    key, node = service.key, node_of("fetcher", group=world.group)
    world.write("all", marked(key, "a", 1), marked(key, "b", 2))
    await server.served(world)
    channel = await clients.channel()
    assert await _fetch(channel, service, sotw_request(key, ["a", "ghost"], node=node)) == {"a": "1"}
    everything = {"a": "1", "b": "2"} if key in {"cds", "lds", "srds"} else {}
    assert await _fetch(channel, service, sotw_request(key, node=node)) == everything
    nowhere = node_of("fetcher", group="a-group-that-nobody-declares")
    assert await _fetch(channel, service, sotw_request(key, ["a"], node=nowhere)) == {}
    for request in (sotw_request(key, ["a"]), sotw_request("eds" if key == "cds" else "cds", ["a"], node=node)):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await _fetch(channel, service, request)
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await _fetch(channel, service, b"\xff\xff\xff")
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_fetches_make_no_node_and_no_group(server: Server, clients: Clients) -> None:
    channel = await clients.channel()
    node = node_of("only-fetches", group="only-fetched")
    await _fetch(channel, SERVICES[0], sotw_request("cds", node=node))
    assert "only-fetches" not in [each["id"] for each in (await server.get("/v1/nodes"))["nodes"]]
    assert "only-fetched" not in [each["name"] for each in (await server.get("/v1/groups"))["groups"]]

"""K34, K35: from manifests in files to a raw client: all slices of a service, of its own namespace, on the right port."""

from __future__ import annotations

from typing import Any

import pytest
from envoy.config.endpoint.v3 import endpoint_pb2

from tests.conformance.documents import World
from tests.conformance.server import Clients
from tests.conformance.wire import BOTH, Variant
from xds_server.demo.manifests import Manifest, gateway, route, service

Hosts = list[str]


def part(of: str, number: int, hosts: Hosts, space: str, *ports: Manifest, family: str = "IPv4") -> Manifest:
    """A slice of a service."""
    labels = {"kubernetes.io/service-name": of}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{of}-{number}", "namespace": space, "labels": labels},
        "addressType": family,
        "ports": list(ports) or [{"port": 8080}],
        "endpoints": [{"addresses": [each]} for each in hosts],
    }


def ported(name: str, space: str, *ports: Manifest) -> Manifest:
    """A service with these ports."""
    return service(name, namespace=space) | {"spec": {"ports": list(ports)}}


async def received(clients: Clients, world: World, variant: Variant, name: str, count: int) -> set[str]:
    """The endpoints of an assignment once there are so many."""
    stream = await clients.stream(variant, world)
    stream.ask("eds", name)

    def found() -> set[str]:
        message = endpoint_pb2.ClusterLoadAssignment.FromString(stream.holds.get("eds", {}).get(name, b""))
        addresses: list[Any] = [
            each.endpoint.address.socket_address for locality in message.endpoints for each in locality.lb_endpoints
        ]
        assert len({(each.address, each.port_value) for each in addresses}) == len(addresses), "none twice"
        return {f"{each.address} {each.port_value}" for each in addresses}

    await stream.until(lambda: len(found()) == count, what=f"{count} endpoints of {name}")
    return found()


@pytest.mark.parametrize("variant", BOTH)
async def test_k34_twelve_slices_of_a_hundred_endpoints(clients: Clients, world: World, variant: Variant) -> None:
    space, other = world.group, f"{world.group}-other"
    slices = [part("big", at, [f"10.0.{at}.{host}" for host in range(100)], space) for at in range(12)]
    world.write("big", service("big", namespace=space), *slices[:6])
    world.write("more", *slices[6:], part("big", 12, ["2001:db8::1"], space, family="IPv6"))
    world.write("other", service("big", namespace=other), part("big", 0, ["10.9.9.9"], other))
    world.write("gateway", gateway(route("big"), namespace=space))
    wanted = {f"10.0.{at}.{host} 8080" for at in range(12) for host in range(100)}
    assert await received(clients, world, variant, f"{space}/big/80", 1200) == wanted

    sixes = service("big", namespace=space)
    sixes["spec"]["ipFamilies"] = ["IPv6", "IPv4"]
    world.write("big", sixes, *slices[:6])
    assert await received(clients, world, variant, f"{space}/big/80", 1) == {"2001:db8::1 8080"}


async def test_k35_the_port_is_the_services_and_its_number_the_slices(clients: Clients, world: World) -> None:
    space = world.group
    crossed = ported(
        "crossed",
        space,
        {"name": "p1", "port": 8080, "targetPort": 8888},
        {"name": "p2", "port": 8888, "targetPort": 8080},
    )
    numbers = ({"name": "p1", "port": 8888}, {"name": "p2", "port": 8080})
    named = ported("named", space, {"name": "http", "port": 8080, "targetPort": "web"})
    world.write("crossed", crossed, part("crossed", 1, ["10.0.0.1"], space, *numbers))
    world.write(
        "named",
        named,
        part("named", 1, ["10.0.1.1"], space, {"name": "http", "port": 8081}),
        part("named", 2, ["10.0.1.2"], space, {"name": "http", "port": 9091}),
        part("named", 3, ["10.0.1.3"], space, {"port": 7}),
    )
    routes = [route("crossed", "/crossed", port=8080), route("named", "/named", port=8080)]
    world.write("gateway", gateway(*routes, namespace=space))
    assert await received(clients, world, Variant.DELTA, f"{space}/crossed/8080", 1) == {"10.0.0.1 8888"}
    assert await received(clients, world, Variant.DELTA, f"{space}/named/8080", 2) == {"10.0.1.1 8081", "10.0.1.2 9091"}

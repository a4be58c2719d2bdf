"""Which endpoints a backend has: readiness, families, ports, zones, and the union of slices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.unit.k8s_source.manifests import Body, endpoint_slice, gateway, route, service
from tests.unit.k8s_source.world import World, told
from xds_server.ir.backend import Endpoint, Locality

GATEWAY, CART = gateway(route()), service("cart")
WEB = {"port": 80, "name": "web"}


def endpoint(address: str, **fields: object) -> Body:
    return {"addresses": [address], **fields}


def conditions(address: str, **fields: bool | None) -> Body:
    return endpoint(address, conditions=fields)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"conditions": None}, True),
        ({"conditions": {}}, True),
        ({"conditions": {"ready": None}}, True),
        ({"conditions": {"ready": True}}, True),
        ({"conditions": {"ready": False}}, False),
        ({"conditions": {"ready": False, "serving": True}}, False),
        ({"conditions": {"ready": False, "serving": True, "terminating": True}}, True),
        ({"conditions": {"ready": False, "serving": None, "terminating": True}}, False),
    ],
)
def test_readiness(given_: Body, expected: bool) -> None:  # noqa: FBT001 - a table
    world = World(GATEWAY, CART, endpoint_slice("a", "cart", endpoint("10.0.0.1", **given_)))
    assert world.backend().is_healthy is expected


def test_what_terminates_and_still_serves_is_used_only_where_nothing_is_ready() -> None:
    leaving = conditions("10.0.0.1", ready=False, serving=True, terminating=True)
    world = World(GATEWAY, CART, endpoint_slice("a", "cart", leaving), endpoint_slice("b", "cart", "10.0.0.2"))
    assert world.endpoints() == ["10.0.0.2:8080"]
    world.remove(endpoint_slice("b", "cart"))
    assert world.endpoints() == ["10.0.0.1:8080"]


def two_families(**fields: Any) -> list[Body]:
    return [
        service("cart", **fields),
        endpoint_slice("four", "cart", "10.0.0.1"),
        endpoint_slice("six", "cart", "fd00::0:1", addressType="IPv6"),
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "10.0.0.1:8080"),
        ({"ipFamilies": ["IPv6", "IPv4"]}, "fd00::1:8080"),
        ({"ipFamilies": ["IPv4", "IPv6"]}, "10.0.0.1:8080"),
        ({"ipFamilies": ["IPv6"]}, "fd00::1:8080"),
    ],
)
def test_of_two_families_the_first_is_taken(fields: dict[str, Any], expected: str) -> None:
    assert World(GATEWAY, *two_families(**fields)).endpoints() == [expected]


def test_of_two_families_the_other_is_taken_where_the_first_has_none() -> None:
    cart, _, six = two_families(ipFamilies=["IPv4", "IPv6"])
    assert World(GATEWAY, cart, six).endpoints() == ["fd00::1:8080"]
    assert World(GATEWAY, service("cart", ipFamilies=["IPv4"]), six).endpoints() == []


def test_a_family_that_is_ready_goes_before_one_that_leaves() -> None:
    cart, _, six = two_families()
    leaving = conditions("10.0.0.1", ready=False, serving=True, terminating=True)
    world = World(GATEWAY, cart, endpoint_slice("four", "cart", leaving), six)
    assert world.endpoints() == ["fd00::1:8080"]
    world.remove(six)
    assert world.endpoints() == ["10.0.0.1:8080"]


def test_domain_names_are_told_and_not_served() -> None:
    names = endpoint_slice("a", "cart", "shop.example", addressType="FQDN")
    world = World(GATEWAY, CART, names)
    assert world.endpoints() == []
    assert told(world.route().missing) == [("AddressTypeFQDN", "spec.routes[0].backendService")]
    world.put(endpoint_slice("b", "cart", "10.0.0.1"))
    assert world.endpoints() == ["10.0.0.1:8080"]
    world.remove(names)
    assert world.route().missing == ()


def test_zones_and_hints() -> None:
    world = World(GATEWAY, CART)
    world.put(
        endpoint_slice(
            "a",
            "cart",
            endpoint("10.0.0.9", zone="b"),
            endpoint("10.0.0.10", zone="b"),
            endpoint("10.0.0.1", zone="a"),
            endpoint("10.0.0.2"),
            endpoint("10.0.0.3", zone="a", hints={"forZones": [{"name": "c"}]}),
            endpoint("10.0.0.4", zone="a", hints={"forZones": [{"name": "c"}, {"name": "b"}]}),
        )
    )
    assert world.backend().localities == (
        Locality("", (Endpoint("10.0.0.2", 8080),)),
        Locality("a", (Endpoint("10.0.0.1", 8080), Endpoint("10.0.0.4", 8080))),
        Locality("b", (Endpoint("10.0.0.10", 8080), Endpoint("10.0.0.9", 8080))),
        Locality("c", (Endpoint("10.0.0.3", 8080),)),
    )


def test_an_endpoint_that_two_slices_have_is_one() -> None:
    one = endpoint_slice("a", "cart", endpoint("10.0.0.1", zone="b"), "10.0.0.2")
    other = endpoint_slice("b", "cart", endpoint("10.0.0.1", zone="a"), endpoint("10.0.0.2", zone="z"))
    expected = (Locality("a", (Endpoint("10.0.0.1", 8080),)), Locality("z", (Endpoint("10.0.0.2", 8080),)))
    assert World(GATEWAY, CART, one, other).backend().localities == expected


@pytest.mark.parametrize("port", [{"port": None}, {"port": 80, "protocol": "UDP"}, {"port": 80, "name": "web"}])
def test_ports_that_are_none_of_the_service(port: Body) -> None:
    assert World(GATEWAY, CART, endpoint_slice("a", "cart", "10.0.0.1", ports=[port])).endpoints() == []


@pytest.mark.parametrize(
    ("protocol", "http2"),
    [("kubernetes.io/h2c", True), ("grpc", True), ("http", False), ("https", False), (None, False)],
)
def test_http2(protocol: str | None, http2: bool) -> None:  # noqa: FBT001 - a table
    assert World(GATEWAY, service("cart", {"port": 80, "appProtocol": protocol})).backend().http2 is http2


def test_slices_of_no_service_and_of_others_count_for_nothing() -> None:
    stray = endpoint_slice("a", "cart", "10.0.0.1")
    stray["metadata"] = {"name": "a"}
    assert World(GATEWAY, CART, stray, endpoint_slice("b", "basket", "10.0.0.2")).endpoints() == []


def test_only_what_gateways_lead_to_is_a_backend() -> None:
    world = World(CART, endpoint_slice("a", "cart", "10.0.0.1"))
    assert not world.model.backends.values
    world.put(GATEWAY)
    assert [str(each) for each in world.model.backends.values] == ["default/cart:80"]


def test_provenance() -> None:
    world = World(GATEWAY, CART, endpoint_slice("b", "cart"), endpoint_slice("a", "cart"))
    assert [f"{each.kind}/{each.name}" for each in world.backend().objects] == [
        "Service/cart",
        "EndpointSlice/a",
        "EndpointSlice/b",
    ]


def test_a_change_of_one_slice_touches_one_backend_and_no_gateway() -> None:
    world = World(gateway(route(), route(name="b", path="/b", backendService="basket")), CART, service("basket"))
    world.put(*(endpoint_slice(f"{of}-{n}", of, f"10.{n}.0.1") for of in ("cart", "basket") for n in range(20)))
    changes = world.put(endpoint_slice("cart-3", "cart", "10.3.0.2"))
    made = {name: count for name, count in changes.made.items() if count}
    assert (made["endpoint slices"], made["backends"], made["gateways"]) == (1, 1, 1)
    assert not changes.of(world.model.gateways)
    assert len(changes.of(world.model.backends)) == 1


def test_k32_a_service_without_endpoints_has_a_backend_without_any() -> None:
    world = World(
        gateway(
            *(route(name=name, path=f"/{name}", backendService=name) for name in ("none", "empty", "unready", "full"))
        ),
        *(service(name) for name in ("none", "empty", "unready", "full")),
        endpoint_slice("a", "empty"),
        endpoint_slice("b", "unready", conditions("10.0.0.1", ready=False), conditions("10.0.0.2", ready=False)),
        endpoint_slice("c", "full", "10.0.0.3"),
    )
    assert {each.service: found.is_healthy for each, found in world.model.backends.values.items()} == {
        "none": False,
        "empty": False,
        "unready": False,
        "full": True,
    }


def test_k34_twelve_slices_of_a_hundred_endpoints() -> None:
    addresses = [f"10.1.{n // 100}.{n % 100}" for n in range(1200)]
    slices = [endpoint_slice(f"big-{n}", "cart", *addresses[n * 100 : n * 100 + 100]) for n in range(12)]
    world = World(GATEWAY, CART, *slices)
    world.put(
        service("cart", namespace="other"),
        endpoint_slice("big-0", "cart", "10.9.0.1", namespace="other"),
        endpoint_slice("big-six", "cart", "fd00::1", addressType="IPv6"),
    )
    assert sorted(world.endpoints()) == sorted(f"{each}:8080" for each in addresses)


class TestK35WhichPort:
    """The number is that of the slice's port which has the name of the Service's port."""

    def test_the_number_is_not_the_services(self) -> None:
        ports = [{"name": "p1", "port": 8080, "targetPort": 8888}, {"name": "p2", "port": 8888, "targetPort": 8080}]
        slices = endpoint_slice(
            "a", "cart", "10.0.0.1", ports=[{"name": "p1", "port": 8888}, {"name": "p2", "port": 8080}]
        )
        world = World(gateway(route(port=8080)), service("cart", *ports), slices)
        assert world.endpoints(port=8080) == ["10.0.0.1:8888"]

    def test_a_target_by_name_differs_from_slice_to_slice(self) -> None:
        world = World(
            GATEWAY,
            service("cart", {**WEB, "targetPort": "web"}),
            endpoint_slice("a", "cart", "10.0.0.1", "10.0.0.2", ports=[{"name": "web", "port": 8081}]),
            endpoint_slice("b", "cart", "10.0.0.3", ports=[{"name": "web", "port": 9091}]),
        )
        assert world.endpoints() == ["10.0.0.1:8081", "10.0.0.2:8081", "10.0.0.3:9091"]

    def test_a_port_without_a_name(self) -> None:
        assert World(GATEWAY, CART, endpoint_slice("a", "cart", "10.0.0.1", ports=[{"port": 7}])).endpoints() == [
            "10.0.0.1:7"
        ]
        named_empty = endpoint_slice("a", "cart", "10.0.0.1", ports=[{"port": 7, "name": ""}])
        assert World(GATEWAY, CART, named_empty).endpoints() == ["10.0.0.1:7"]
        assert World(GATEWAY, service("cart", WEB), endpoint_slice("a", "cart", "10.0.0.1")).endpoints() == []


ADDRESSES = st.frozensets(st.integers(1, 40), max_size=8)
EDITS = st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | ADDRESSES), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(EDITS, st.integers(0, 60))
def test_k30_any_order_of_edits_ends_at_the_union(edits: list[tuple[str, frozenset[int] | None]], came: int) -> None:
    """Slices come, change, swap endpoints, go and come back; the Service and the gateway come somewhere in between."""
    world, there = World(), dict[str, frozenset[int]]()
    for step, (name, numbers) in enumerate(edits):
        if step == came % len(edits):
            world.put(GATEWAY, CART)
        if numbers is None:
            there.pop(name, None)
            world.remove(endpoint_slice(name, "cart"))
        else:
            there[name] = numbers
            world.put(endpoint_slice(name, "cart", *addresses(numbers)))
    union = {address for numbers in there.values() for address in addresses(numbers)}
    assert sorted(world.endpoints()) == sorted(f"{each}:8080" for each in union)
    scratch = World(CART, *(endpoint_slice(name, "cart", *addresses(there[name])) for name in there), GATEWAY)
    assert world.backend().localities == scratch.backend().localities


def addresses(numbers: frozenset[int]) -> Iterator[str]:
    return (f"10.0.0.{number}" for number in numbers)

"""DynamicGateways in the model: every field, and what is left out and told."""

from __future__ import annotations

import pytest

from tests.unit.k8s_source.manifests import Body, gateway, route, service, watching
from tests.unit.k8s_source.world import World, told
from xds_server.ir.backend import BackendKey
from xds_server.ir.facts import LagQuery, NoCommit, Rule, ValueQuery, Watch
from xds_server.ir.gateway import GatewayKey, Listener, Path, PathKind, Policy, Protocol, SecretKey

CART, BASKET = service("cart"), service("basket")


def test_defaults() -> None:
    found = World(CART, gateway(route())).gateway()
    assert found.key == GatewayKey("default", "shop")
    assert (found.group, found.policy, found.problems) == (
        "default",
        Policy(300.0, fail_open=False, require_envoy_ack=True),
        (),
    )
    assert found.listeners == (Listener("http", "0.0.0.0", 8080),)
    (only,) = found.routes
    assert (only.hosts, only.path) == (("*",), Path(PathKind.PREFIX, "/cart"))
    assert (only.primary, only.degrade, only.watch) == (BackendKey("default", "cart", 80), None, None)
    assert (only.timeout, only.retries, only.max_qps, only.missing) == (None, 0, None, ())


def test_all_fields() -> None:
    fields: Body = {
        "kafkaTopics": ["b", "a", "b"],
        "kafkaCluster": "eu",
        "noCommit": "latest",
        "enterSamples": 3,
        "recoverThreshold": 10,
        "minDwell": "1m",
        "pathType": "Exact",
        "hosts": ["Shop.example", "*.shop.example", "shop.example"],
        "timeout": "1.5s",
        "retries": 2,
        "maxQps": 50,
    }
    listeners = [
        {"name": "plain", "port": 0, "address": "127.0.0.1"},
        {"port": 8443, "protocol": "HTTPS", "address": "::0001", "tls": {"secretName": "shop-tls"}},
    ]
    policy = {"fullResyncInterval": "1m", "failOpen": True, "requireEnvoyAck": False}
    metadata = {
        "annotations": {"tidegate.dev/group": "edge"},
        "generation": 4,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    found = World(
        CART, BASKET, gateway(watching(**fields), listeners=listeners, policy=policy, metadata=metadata)
    ).gateway()
    assert (found.group, found.generation, found.policy) == (
        "edge",
        4,
        Policy(60.0, fail_open=True, require_envoy_ack=False),
    )
    assert found.seniority == ("2026-01-01T00:00:00Z", "in.yaml", 1)
    assert found.listeners == (
        Listener("plain", "127.0.0.1", 0),
        Listener("https-8443", "::1", 8443, Protocol.HTTPS, SecretKey("default", "shop-tls")),
    )
    (only,) = found.routes
    assert only.hosts == ("shop.example", "*.shop.example")
    assert only.path == Path(PathKind.EXACT, "/cart")
    assert only.degrade == BackendKey("default", "basket", 80)
    assert only.watch == Watch(LagQuery("eu", "cart", ("a", "b")), Rule(100, 10, 3, 60.0, NoCommit.LATEST))
    assert (only.timeout, only.retries, only.max_qps) == (1.5, 2, 50)


def test_recovery_is_at_80_percent_where_none_is_told() -> None:
    world = World(CART, BASKET, gateway(watching(kafkaLagThreshold=30)))
    assert world.route().watch == Watch(LagQuery("default", "cart"), Rule(30, 24.0, 1, 30.0))


def test_a_value_of_prometheus() -> None:
    world = World(CART, BASKET, gateway(route(prometheusQuery="up", threshold=0.5, degradeService="basket")))
    assert world.route().watch == Watch(ValueQuery("up"), Rule(0.5, 0.4, 1, 30.0))


@pytest.mark.parametrize(("path", "expected"), [("/a/", "/a"), ("/", "/")])
def test_a_slash_at_the_end_of_a_prefix_says_nothing(path: str, expected: str) -> None:
    assert World(CART, gateway(route(path=path))).route().path == Path(PathKind.PREFIX, expected)


MANY = ({"port": 80, "name": "http"}, {"port": 81, "name": "admin"})


@pytest.mark.parametrize(
    ("services", "fields", "expected"),
    [
        ([], {}, ("ServiceNotFound", "backendService", "there is no Service default/cart")),
        (
            [service("cart", *MANY)],
            {},
            ("PortRequired", "backendService", "several ports; choose one with port: 80 (http), 81 (admin)"),
        ),
        ([service("cart", *MANY)], {"port": 82}, ("PortNotFound", "port", "no port 82; it has 80 (http), 81 (admin)")),
        ([service("cart", *MANY)], {"port": "grpc"}, ("PortNotFound", "port", "no port grpc; it has 80 (http), 81")),
        ([service("cart", {"port": 53, "protocol": "UDP"})], {}, ("PortNotFound", "backendService", "no port of TCP")),
        (
            [service("cart", type="ExternalName", externalName="a.b")],
            {},
            ("ExternalName", "backendService", "has no endpoints"),
        ),
    ],
)
def test_what_is_missing(services: list[Body], fields: Body, expected: tuple[str, str, str]) -> None:
    found = World(*services, gateway(route(**fields), route(name="other", path="/x"))).route()
    assert found.primary is None
    (problem,) = found.missing
    assert (problem.reason, problem.field) == (expected[0], f"spec.routes[0].{expected[1]}")
    assert expected[2] in problem.message
    assert problem.message.startswith("route 'cart': ")


@pytest.mark.parametrize(("wanted", "port"), [(81, 81), ("admin", 81), ("http", 80)])
def test_a_port_by_number_or_name(wanted: int | str, port: int) -> None:
    assert World(service("cart", *MANY), gateway(route(port=wanted))).route().primary == BackendKey(
        "default", "cart", port
    )


@pytest.mark.parametrize(
    ("degrade", "wanted", "port"),
    [
        (service("basket", {"port": 9}), 81, 9),
        (service("basket", *MANY), 81, 81),
        (service("basket", {"port": 7, "name": "admin"}, {"port": 8, "name": "x"}), "admin", 7),
        (service("basket", {"port": 7, "name": "a"}, {"port": 8, "name": "b"}), 81, None),
    ],
)
def test_the_port_of_the_degrade_service(degrade: Body, wanted: int | str, port: int | None) -> None:
    found = World(service("cart", *MANY), degrade, gateway(watching(port=wanted))).route()
    assert found.degrade == (None if port is None else BackendKey("default", "basket", port))
    assert told(found.missing) == ([] if port else [("PortRequired", "spec.routes[0].degradeService")])


def test_the_degrade_service_has_the_port_of_a_route_that_names_none() -> None:
    found = World(service("cart", {"port": 81}), service("basket", *MANY), gateway(watching())).route()
    assert found.degrade == BackendKey("default", "basket", 81)


def test_a_service_that_comes_and_goes() -> None:
    world = World(gateway(route()))
    assert world.route().primary is None
    world.put(CART)
    assert world.route().primary == BackendKey("default", "cart", 80)
    world.remove(CART)
    assert world.route().primary is None
    assert not world.model.backends.values


def test_a_service_of_another_namespace_is_none_of_ours() -> None:
    assert World(service("cart", namespace="eu"), gateway(route())).route().primary is None


def test_of_two_routes_with_one_name_the_first_stays() -> None:
    found = World(CART, gateway(route(path="/a"), route(path="/b"), route(name="c", path="/c"))).gateway()
    assert [each.path.value for each in found.routes] == ["/a", "/c"]
    assert told(found.problems) == [("DuplicateRoute", "spec.routes[1].name")]


def test_of_two_routes_that_match_the_same_the_first_stays() -> None:
    routes = [
        route(hosts=["a", "b"]),
        route(name="two", path="/cart/", hosts=["B", "c"]),
        route(name="three", hosts=["c", "a"]),
        route(name="four", hosts=["a"], pathType="Exact"),
        route(name="five", hosts=["a"], path="/cart/x"),
        route(name="six"),
    ]
    found = World(CART, gateway(*routes)).gateway()
    assert [(each.key.route, each.hosts) for each in found.routes] == [
        ("cart", ("a", "b")),
        ("two", ("c",)),
        ("four", ("a",)),
        ("five", ("a",)),
        ("six", ("*",)),
    ]
    assert told(found.problems) == [
        ("OverlappingPath", "spec.routes[1].path"),
        ("OverlappingPath", "spec.routes[2].path"),
    ]
    assert "route 'three' matches the same as 'two', 'cart' for c, a (Prefix /cart)" in found.problems[1].message


def test_of_two_listeners_with_one_name_or_port_the_first_stays() -> None:
    listeners = [
        {"name": "a", "port": 80},
        {"name": "a", "port": 81},
        {"name": "b", "port": 80},
        {"name": "c", "port": 80, "address": "127.0.0.1"},
        {"name": "d", "port": 0},
        {"name": "e", "port": 0},
    ]
    found = World(CART, gateway(route(), listeners=listeners)).gateway()
    assert [each.name for each in found.listeners] == ["a", "c", "d", "e"]
    assert told(found.problems) == [
        ("DuplicateListener", "spec.listeners[1].name"),
        ("DuplicateListener", "spec.listeners[2].port"),
    ]


def test_what_is_refused_leaves_the_last_good_one() -> None:
    world = World(CART, gateway(route()))
    world.put(gateway(route(retires=1), metadata={"generation": 2}))
    assert world.route().primary
    assert told(world.gateway().problems) == [("UnknownField", "spec.routes[0].retires")]
    assert world.gateway().generation == 2


def test_what_never_was_right_is_told() -> None:
    found = World(gateway(5)).gateway()
    assert (found.routes, found.listeners) == ((), ())
    assert told(found.problems) == [("InvalidValue", "spec.routes[0]")]
    assert found.origin.path == "in.yaml"

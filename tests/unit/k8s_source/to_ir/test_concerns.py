"""What is wrong with objects that a gateway depends on: it is told at the gateway, whose routes go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.k8s_source.manifests import (
    FILE,
    Body,
    decoded,
    endpoint_slice,
    gateway,
    pair,
    route,
    service,
    tls_secret,
)
from tests.unit.k8s_source.world import World
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.objects import Object, Standing
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem

EDGE = gateway(
    route(), route(name="pay", path="/pay", backendService="pay", degradeService="pay-lite"),
    listeners=[{"port": 8443, "protocol": "HTTPS", "tls": {"secretName": "shop-tls"}}],
)  # fmt: skip
ALL = (
    EDGE,
    *(
        each
        for name in ("cart", "pay", "pay-lite", "idle")
        for each in (service(name), endpoint_slice(name, name, "10.0.0.1"))
    ),
    tls_secret(*pair()),
    gateway(route(backendService="idle"), name="other"),
)


def told(world: World, name: str = "shop") -> list[tuple[str, str]]:
    found = world.model.concerns.values.get(GatewayKey("default", name), ())
    return [(each.reason, each.message) for each in found]


BROKEN: dict[str, tuple[Body, str]] = {
    "a key of another certificate": (tls_secret(pair()[0], pair("other")[1]), "Secret/default/shop-tls"),
    "a service": ({**service("cart"), "spec": {"ports": "http"}}, "Service/default/cart"),
    "the service to degrade to": ({**service("pay-lite"), "spec": {"ports": "http"}}, "Service/default/pay-lite"),
    "a slice": ({**endpoint_slice("pay", "pay", "10.0.0.1"), "addressType": "IPv5"}, "EndpointSlice/default/pay"),
}


@pytest.mark.parametrize(("body", "name"), BROKEN.values(), ids=BROKEN)
def test_what_can_not_be_read_any_more_is_told_at_the_gateways_that_depend_on_it(body: Body, name: str) -> None:
    world = World(*ALL)
    before = world.gateway()
    world.put(body)
    ((reason, message),) = told(world)
    assert reason in {"InvalidValue", "Mismatch"}
    assert message.startswith(f"{name}")
    assert "in.yaml" in message
    assert message.endswith("; its last good form is in force")
    assert told(world, "other") == []
    assert world.gateway() == before
    assert world.backend("pay").localities
    world.put(*ALL)
    assert told(world) == []


def test_what_never_could_be_read_is_told_too_for_it_is_not_simply_missing() -> None:
    world = World(*(each for each in ALL if each["kind"] != "Secret"), tls_secret("hush", "hush"))
    found = told(world)
    assert [reason for reason, _ in found] == ["InvalidValue", "InvalidValue"]
    for _, message in found:
        assert message.startswith("Secret/default/shop-tls")
        assert message.endswith("; it has no good form")
        assert "hush" not in message
    world.put(*ALL)
    assert told(world) == []


def test_what_no_gateway_depends_on_is_told_at_none() -> None:
    world = World(*ALL)
    world.put({**service("unused"), "spec": {"ports": "http"}}, {**service("idle"), "spec": {"ports": "http"}})
    assert told(world) == []
    assert len(told(world, "other")) == 1


@pytest.mark.parametrize(
    "body",
    [EDGE, service("cart"), endpoint_slice("pay", "pay", "10.0.0.1"), tls_secret(*pair())],
    ids=lambda body: body["kind"],
)
def test_a_second_declaration_is_told(body: Body) -> None:
    world = World(*ALL)
    found = decoded(body)
    second = Problem(Origin("files", "b.yaml", 1, 3), "DuplicateObject", "it is declared already in in.yaml")
    _stand(world, found, second)
    assert told(world) == [
        ("DuplicateObject", "it is declared already in in.yaml; the one in b.yaml:3 is not in force")
    ]
    assert told(world, "other") == []


def test_without_a_file_an_object_is_named_once() -> None:
    """As one from a cluster: its place would be its name again."""
    world = World(*ALL)
    found = decoded(service("cart"))
    wrong = Problem(
        Origin("kubernetes", kind="Service", namespace="default", name="cart"), "InvalidValue", "no ports", "spec"
    )
    world.engine.update(world.standings.edit({found.key: Standing(found, (wrong,))}))
    assert told(world) == [("InvalidValue", "Service/default/cart: spec: no ports; its last good form is in force")]


def _stand(world: World, found: Object, *duplicates: Problem) -> None:
    world.engine.update(world.standings.edit({found.key: Standing(found, (), duplicates)}))


def test_a_file_that_can_not_be_read_makes_no_generation() -> None:
    world = World(*ALL)
    found = decoded(gateway(route(), metadata={"generation": 7}))
    whole = Problem(replace(FILE, document=0), "InvalidSyntax", "no YAML")
    world.engine.update(world.standings.edit({found.key: Standing(found, (whole,))}))
    assert (world.gateway().generation, world.gateway().problems) == (7, (whole,))

"""Resources of gateways: names, what they hold, what they refer to, and who made them."""

from __future__ import annotations

import pytest
from envoy.config.route.v3.route_pb2 import RouteConfiguration
from envoy.extensions.filters.network.http_connection_manager.v3.http_connection_manager_pb2 import (
    HttpConnectionManager,
)
from envoy.extensions.transport_sockets.tls.v3.tls_pb2 import DownstreamTlsContext

from tests.support.gateways import (
    HTTP,
    backend,
    backend_key,
    certificate,
    derived,
    gateway,
    https,
    route,
    watch,
)
from xds_server.derive.facts import Remembered
from xds_server.ir.backend import Endpoint, Locality
from xds_server.ir.decision import Choice
from xds_server.ir.facts import Verdict
from xds_server.ir.gateway import Listener, PathKind
from xds_server.translate.gateway import read_back
from xds_server.translate.gateway.filters import local_ratelimit
from xds_server.translate.references import refs_of

LAGGING = route("orders", degrade="orders-lite", watch=watch())


def test_a_gateway_becomes_a_whole() -> None:
    found = derived(gateway(LAGGING), backend("orders", "10.0.0.1"), backend("orders-lite", "10.0.0.2"))
    names = ["shop/orders-lite/80", "shop/orders/80"]
    assert {key: found.names(key) for key in ("cds", "eds", "lds", "rds", "sds")} == {
        "cds": names,
        "eds": names,
        "lds": ["http-8080"],
        "rds": ["http-8080"],
        "sds": [],
    }
    assert found.message("cds", "shop/orders/80").eds_cluster_config.eds_config.HasField("ads")
    made = found.message("rds", "http-8080").virtual_hosts[0]
    assert (made.name, list(made.domains)) == ("*", ["*"])
    assert made.routes[0].name == "shop/web/orders"
    assert made.routes[0].route.cluster == "shop/orders/80"
    assert made.routes[0].metadata.filter_metadata["tidegate.dev"]["decision"] == "primary"


def test_every_resource_knows_what_it_refers_to_and_is_canonical() -> None:
    rejected = route("carts", "/carts", primary="none", kind=PathKind.EXACT, max_qps=2.5)
    web = gateway(LAGGING, rejected, listeners=(HTTP, https()))
    found = derived(web, backend("orders", "10.0.0.1", http2=True), certificate())
    assert len(found.ends.resources.values) == 11
    for (_, url, name), each in found.ends.resources.values.items():
        message = found.message(url, name)
        assert each.refs == refs_of(message), name
        assert each.body == message.SerializeToString(deterministic=True), name
        assert each.type_url == url
        assert each.name == name


def test_a_switch_changes_the_route_configuration_only() -> None:
    found = derived(gateway(LAGGING), backend("orders", "10.0.0.1"), backend("orders-lite", "10.0.0.2"))
    changes = found.update(found.facts.verdicts.edit({LAGGING.key: Verdict.OVER}))
    assert [name for _, _, name in changes.of(found.ends.resources)] == ["http-8080"]
    assert found.message("rds", "http-8080").virtual_hosts[0].routes[0].route.cluster == "shop/orders-lite/80"
    assert found.decision("orders").choice is Choice.DEGRADED
    assert found.update(found.facts.verdicts.edit({LAGGING.key: None})).of(found.ends.resources)
    assert found.decision("orders").choice is Choice.PRIMARY


def test_a_verdict_of_a_route_that_watches_nothing_counts_for_nothing() -> None:
    plain = route("orders", degrade="orders-lite")
    found = derived(gateway(plain), backend("orders", "10.0.0.1"), backend("orders-lite", "10.0.0.2"))
    assert not found.update(found.facts.verdicts.edit({plain.key: Verdict.OVER})).of(found.ends.decisions)


def test_an_endpoint_changes_one_assignment_only() -> None:
    found = derived(gateway(LAGGING), backend("orders", "10.0.0.1"), backend("orders-lite", "10.0.0.2"))
    changes = found.put(backend("orders", "10.0.0.1", "10.0.0.3"))
    assert [(url.rpartition(".")[2], name) for _, url, name in changes.of(found.ends.resources)] == [
        ("ClusterLoadAssignment", "shop/orders/80")
    ]
    assert not changes.of(found.ends.decisions)
    assert changes.made.get("decisions", 0) == 0


def test_a_rejected_route_says_why_and_others_go_on() -> None:
    web = gateway(route("orders"), route("carts", "/carts", primary="carts"))
    found = derived(web, backend("orders", "10.0.0.1"), backend("carts"))
    carts, orders = found.message("rds", "http-8080").virtual_hosts[0].routes
    assert (carts.direct_response.status, carts.direct_response.body.inline_string) == (503, "no-healthy-backend")
    header = carts.response_headers_to_add[0].header
    assert (header.key, header.value) == ("x-tidegate-reason", "no-healthy-backend")
    assert orders.route.cluster == "shop/orders/80"
    assert found.names("eds") == ["shop/carts/80", "shop/orders/80"]
    assert not found.message("eds", "shop/carts/80").endpoints


def test_a_backend_that_is_nowhere_has_an_empty_assignment() -> None:
    found = derived(gateway(route("orders")))
    assert found.names("cds") == found.names("eds") == ["shop/orders/80"]
    assert found.decision("orders").choice is Choice.REJECTED


def test_fail_open_leads_where_the_last_decision_led_with_the_endpoints_of_then() -> None:
    web = gateway(LAGGING, fail_open=True)
    found = derived(web, backend("orders", "10.0.0.1"), backend("orders-lite", "10.0.0.2"))
    found.remember()
    found.put(backend("orders"))
    assert found.decision("orders").choice is Choice.FAIL_OPEN
    assert found.decision("orders").backend == backend_key("orders")
    assert read_back(found.resource("eds", "shop/orders/80")) == (Locality("", (Endpoint("10.0.0.1", 8080),)),)
    found.backends_gone("orders")
    assert read_back(found.resource("eds", "shop/orders/80")) == (Locality("", (Endpoint("10.0.0.1", 8080),)),)
    found.put(backend("orders", "10.0.0.9"))
    assert found.decision("orders").choice is Choice.PRIMARY
    assert read_back(found.resource("eds", "shop/orders/80")) == (Locality("", (Endpoint("10.0.0.9", 8080),)),)


def test_fail_open_keeps_a_backend_that_the_route_names_no_more() -> None:
    found = derived(gateway(LAGGING, fail_open=True), backend("orders", "10.0.0.1"))
    found.remember()
    found.put(gateway(route("orders", primary="next"), fail_open=True))
    assert found.decision("orders").backend == backend_key("orders")
    assert found.names("cds") == ["shop/next/80", "shop/orders/80"]


def test_fail_open_leads_to_the_endpoints_of_now_where_there_are_some() -> None:
    found = derived(gateway(LAGGING, fail_open=True), backend("orders", "10.0.0.1"), backend("orders-lite", "10.0.0.2"))
    found.update(found.facts.verdicts.edit({LAGGING.key: Verdict.OVER}))
    found.remember()
    found.put(backend("orders"), backend("orders-lite", "10.0.0.3"))
    found.update(found.facts.verdicts.edit({LAGGING.key: Verdict.NORMAL}))
    assert found.decision("orders").choice is Choice.FAIL_OPEN
    assert found.decision("orders").backend == backend_key("orders-lite")
    assert read_back(found.resource("eds", "shop/orders-lite/80")) == (Locality("", (Endpoint("10.0.0.3", 8080),)),)
    found.drain("orders", "orders-lite")
    assert read_back(found.resource("eds", "shop/orders/80")) == (), "nothing leads there"


def test_fail_open_to_a_backend_whose_endpoints_are_not_known_rejects() -> None:
    found = derived(gateway(LAGGING, fail_open=True), backend("orders"))
    found.update(found.facts.decided.edit({LAGGING.key: Remembered(Choice.PRIMARY, backend_key("orders"))}))
    assert found.decision("orders").choice is Choice.REJECTED


def test_fail_open_without_memory_rejects() -> None:
    found = derived(gateway(LAGGING, fail_open=True), backend("orders"))
    assert found.decision("orders").choice is Choice.REJECTED
    assert not found.message("eds", "shop/orders/80").endpoints


def test_without_fail_open_nothing_old_is_served() -> None:
    found = derived(gateway(LAGGING), backend("orders", "10.0.0.1"))
    found.remember()
    found.put(backend("orders"))
    assert found.decision("orders").choice is Choice.REJECTED
    found.drain("orders")
    assert read_back(found.resource("eds", "shop/orders/80")) == ()


def test_a_gateway_without_fail_open_gets_no_old_endpoints_by_another_group() -> None:
    shy = gateway(route("orders", gateway="shy"), name="shy", group="edge")
    found = derived(gateway(LAGGING, fail_open=True), shy, backend("orders", "10.0.0.1"))
    found.remember()
    found.put(backend("orders"))
    found.drain("orders")
    assert read_back(found.resource("eds", "shop/orders/80"))
    assert read_back(found.resource("eds", "shop/orders/80", "edge")) == ()


def test_zones_become_localities_and_come_back() -> None:
    found = derived(gateway(route("orders")), backend("orders", "10.0.0.2", "10.0.0.1", zone="eu-1"))
    wanted = (Locality("eu-1", (Endpoint("10.0.0.1", 8080), Endpoint("10.0.0.2", 8080))),)
    assert read_back(found.resource("eds", "shop/orders/80")) == wanted
    assert found.message("eds", "shop/orders/80").endpoints[0].locality.zone == "eu-1"


def test_http2_is_spoken_to_backends_that_say_so() -> None:
    found = derived(gateway(route("orders")), backend("orders", "10.0.0.1", http2=True))
    assert len(found.message("cds", "shop/orders/80").typed_extension_protocol_options) == 1
    found.put(backend("orders", "10.0.0.1"))
    assert not found.message("cds", "shop/orders/80").typed_extension_protocol_options


def test_origins_tell_who_made_what() -> None:
    web = gateway(route("orders"), listeners=(https(),))
    found = derived(web, backend("orders", "10.0.0.1"), certificate())
    told = {
        key: [f"{origin.kind} {origin.name}" for origin in found.resource(key, name).origins]
        for key, name in (
            ("cds", "shop/orders/80"),
            ("eds", "shop/orders/80"),
            ("lds", "https-8443"),
            ("rds", "https-8443"),
            ("sds", "shop/certificate"),
        )
    }
    assert told == {
        "cds": ["DynamicGateway web", "Service orders"],
        "eds": ["Service orders", "EndpointSlice orders-1"],
        "lds": ["DynamicGateway web"],
        "rds": ["DynamicGateway web"],
        "sds": ["Secret certificate"],
    }


def test_https_has_a_chain_for_each_gateway() -> None:
    first = gateway(route("all"), listeners=(https("first"),))
    hosts = ("a.example.com", "*.b.example.com")
    second = gateway(route("named", gateway="api", hosts=hosts), name="api", listeners=(https("second"),))
    found = derived(first, second, certificate("first"), certificate("second"))
    listener = found.message("lds", "https-8443")
    assert [each.name for each in listener.listener_filters] == ["envoy.filters.listener.tls_inspector"]
    assert [list(each.filter_chain_match.server_names) for each in listener.filter_chains] == [
        ["*.b.example.com", "a.example.com"]
    ]
    assert _secret(listener.filter_chains[0]) == "shop/second"
    assert _secret(listener.default_filter_chain) == "shop/first"
    assert found.names("sds") == ["shop/first", "shop/second"]
    assert found.message("sds", "shop/first").tls_certificate.private_key.inline_string == "KEY"


def test_a_certificate_that_is_missing_costs_its_own_chain_only() -> None:
    first = gateway(route("all"), listeners=(https("first"),))
    second = gateway(route("named", gateway="api", hosts=("a.com",)), name="api", listeners=(https("second"),))
    found = derived(first, second, certificate("second"))
    listener = found.message("lds", "https-8443")
    assert not listener.HasField("default_filter_chain")
    assert len(listener.filter_chains) == 1
    assert [problem.reason for problem in found.report().unresolved if "Secret" in problem.reason] == ["SecretNotFound"]
    found.put(certificate("first"))
    assert found.message("lds", "https-8443").HasField("default_filter_chain")


def test_a_renewed_certificate_changes_its_secret_only() -> None:
    found = derived(gateway(route("all"), listeners=(https(),)), certificate())
    changes = found.put(certificate(chain="NEXT"))
    assert [name for _, _, name in changes.of(found.ends.resources)] == ["shop/certificate"]


def _secret(chain: object) -> str:
    context = DownstreamTlsContext.FromString(chain.transport_socket.typed_config.value)  # type: ignore[attr-defined]
    assert list(context.common_tls_context.alpn_protocols) == ["h2", "http/1.1"]
    name: str = context.common_tls_context.tls_certificate_sds_secret_configs[0].name
    return name


@pytest.mark.parametrize(
    ("listener", "name"),
    [
        (Listener("http", "0.0.0.0", 80), "http-80"),
        (Listener("http", "127.0.0.1", 80), "http-127.0.0.1-80"),
        (Listener("plain", "127.0.0.1", 0), "http-shop-web-plain"),
    ],
)
def test_names_of_listeners(listener: Listener, name: str) -> None:
    found = derived(gateway(route("orders"), listeners=(listener,)))
    assert found.names("lds") == found.names("rds") == [name]
    address = found.message("lds", name).address.socket_address
    assert (address.address, address.port_value) == (listener.address, listener.port)


def test_how_requests_are_read() -> None:
    found = derived(gateway())
    manager = found.message("lds", "http-8080").filter_chains[0].filters[0]
    made = HttpConnectionManager.FromString(manager.typed_config.value)
    assert made.normalize_path.value
    assert made.use_remote_address.value
    assert [each.name for each in made.http_filters] == [local_ratelimit.NAME, "envoy.filters.http.router"]
    assert [each.upgrade_type for each in made.upgrade_configs] == ["websocket"]
    assert found.message("rds", "http-8080") == RouteConfiguration(name="http-8080", ignore_port_in_host_matching=True)


def test_groups_have_resources_of_their_own() -> None:
    edge = gateway(route("orders", gateway="edge"), name="edge", group="edge")
    found = derived(gateway(route("orders")), edge, backend("orders", "10.0.0.1"))
    assert found.names("rds", "edge") == found.names("rds") == ["http-8080"]
    assert found.resource("cds", "shop/orders/80", "edge").version == found.resource("cds", "shop/orders/80").version
    assert not found.report("edge").invalid
    found.update(found.gateways.edit({edge.key: None}))
    assert found.names("rds", "edge") == found.names("cds", "edge") == []

"""Which names a resource needs from this control plane."""

from __future__ import annotations

import pytest

from tests.unit.translate.documents import (
    ADS,
    CLUSTER,
    DOWNSTREAM_TLS,
    ENDPOINT,
    HCM,
    LISTENER,
    TCP_PROXY,
    UPSTREAM_TLS,
    any_of,
    listener,
    made,
    routes,
    sds,
    to,
)
from xds_server.ir.refs import NO_REFS, Refs
from xds_server.wire.resource import Resource


def refs(**names: str) -> Refs:
    return Refs(**{kind: frozenset(each.split()) for kind, each in names.items()})


@pytest.mark.parametrize("source", [ADS, {"self": {}}, {"ads": {}}])
def test_eds_from_here(source: dict[str, object]) -> None:
    eds = {"eds_config": source}
    assert made(CLUSTER, name="x", type="EDS", eds_cluster_config=eds).refs == refs(assignments="x")
    named = {**eds, "service_name": "s"}
    assert made(CLUSTER, name="x", type="EDS", eds_cluster_config=named).refs == refs(assignments="s")


@pytest.mark.parametrize(
    "source", [{"path_config_source": {"path": "/x"}}, {"api_config_source": {"api_type": "GRPC"}}, {}]
)
def test_eds_from_elsewhere(source: dict[str, object]) -> None:
    assert made(CLUSTER, name="x", type="EDS", eds_cluster_config={"eds_config": source}).refs == NO_REFS


def test_other_clusters_need_no_assignment() -> None:
    assert made(CLUSTER, name="x", type="STATIC", eds_cluster_config={"eds_config": ADS}).refs is NO_REFS


def test_aggregate_clusters() -> None:
    config = any_of("envoy.extensions.clusters.aggregate.v3.ClusterConfig", clusters=["a", "b"])
    assert made(CLUSTER, name="x", cluster_type={"name": "n", "typed_config": config}).refs == refs(clusters="a b")


def test_secrets_of_clusters() -> None:
    tls = any_of(UPSTREAM_TLS, common_tls_context={"tls_certificate_sds_secret_configs": [sds("cert")]})
    match = any_of(UPSTREAM_TLS, common_tls_context={"validation_context_sds_secret_config": sds("ca", self={})})
    resource = made(
        CLUSTER,
        name="x",
        transport_socket={"name": "tls", "typed_config": tls},
        transport_socket_matches=[{"name": "m", "transport_socket": {"name": "tls", "typed_config": match}}],
    )
    assert resource.refs == refs(secrets="cert ca")


def test_secrets_from_elsewhere() -> None:
    static = {"tls_certificate_sds_secret_configs": [{"name": "static"}, sds("file", path="/x")]}
    tls = any_of(UPSTREAM_TLS, common_tls_context=static)
    assert made(CLUSTER, name="x", transport_socket={"name": "tls", "typed_config": tls}).refs is NO_REFS


def test_listeners() -> None:
    hcm = any_of(HCM, stat_prefix="x", rds={"route_config_name": "r", "config_source": ADS})
    combined = {"combined_validation_context": {"validation_context_sds_secret_config": sds("ca")}}
    tls = any_of(DOWNSTREAM_TLS, common_tls_context=combined, session_ticket_keys_sds_secret_config=sds("keys"))
    resource = made(
        LISTENER,
        name="l",
        filter_chains=[{"filters": [{"name": "h", "typed_config": hcm}]}],
        default_filter_chain={
            "filters": [{"name": "t", "typed_config": any_of(TCP_PROXY, stat_prefix="x", cluster="c")}],
            "transport_socket": {"name": "tls", "typed_config": tls},
        },
    )
    assert resource.refs == refs(routes="r", clusters="c", secrets="ca keys")


def test_routes_from_elsewhere() -> None:
    path = {"path_config_source": {"path": "/r"}}
    hcm = any_of(HCM, stat_prefix="x", rds={"route_config_name": "r", "config_source": path})
    assert listener(hcm).refs is NO_REFS


def test_inline_routes() -> None:
    hosts = [{"name": "v", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, **to("c")}]}]
    assert listener(any_of(HCM, stat_prefix="x", route_config={"virtual_hosts": hosts})).refs == refs(clusters="c")


def test_tcp_proxies_with_weights() -> None:
    weighted = {"clusters": [{"name": "a", "weight": 1}, {"name": "b", "weight": 2}]}
    assert listener(any_of(TCP_PROXY, stat_prefix="x", weighted_clusters=weighted)).refs == refs(clusters="a b")


def test_udp_listeners() -> None:
    route = any_of("envoy.extensions.filters.udp.udp_proxy.v3.Route", cluster="u")
    action = {"on_no_match": {"action": {"name": "route", "typed_config": route}}}
    proxy = any_of("envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig", stat_prefix="x", matcher=action)
    resource = made(LISTENER, name="l", listener_filters=[{"name": "udp", "typed_config": proxy}])
    assert resource.refs == refs(clusters="u")


def test_scoped_routes_inside_a_listener() -> None:
    def scoped(source: dict[str, object]) -> Resource:
        scopes = [{"name": "s", "route_configuration_name": "r", "key": {}}]
        config = {"name": "x", "rds_config_source": source}
        config["scoped_route_configurations_list"] = {"scoped_route_configurations": scopes}
        return listener(any_of(HCM, stat_prefix="x", scoped_routes=config))

    assert scoped(ADS).refs == refs(routes="r")
    assert scoped({"path": "/x"}).refs is NO_REFS


def test_a_scope_names_its_routes() -> None:
    resource = made("envoy.config.route.v3.ScopedRouteConfiguration", name="s", route_configuration_name="r")
    assert resource.refs == refs(routes="r")


def test_route_configurations() -> None:
    weighted = {"clusters": [{"name": "a", "weight": 0}, {"cluster_header": "x-c", "weight": 1}]}
    resource = routes(
        to("b"),
        {"route": {"weighted_clusters": weighted}},
        {"route": {"cluster_header": "x-c", "request_mirror_policies": [{"cluster": "m"}]}},
        {"route": {"inline_cluster_specifier_plugin": {"extension": {"name": "p"}}}},
        {"redirect": {"https_redirect": True}},
        request_mirror_policies=[{"cluster": "all"}],
    )
    assert resource.refs == refs(clusters="a b m all")


def test_clusters_of_virtual_hosts_that_are_served_alone() -> None:
    vhost = {"name": "v", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, **to("c")}]}
    assert made("envoy.config.route.v3.VirtualHost", **vhost).refs == refs(clusters="c")


def test_services_that_envoy_calls_may_be_of_its_bootstrap() -> None:
    service = {"envoy_grpc": {"cluster_name": "authz"}}
    authz = any_of("envoy.extensions.filters.http.ext_authz.v3.ExtAuthz", grpc_service=service)
    http_filters = [{"name": "authz", "typed_config": authz}]
    assert listener(any_of(HCM, stat_prefix="x", http_filters=http_filters)).refs is NO_REFS


def test_secrets_of_http_filters() -> None:
    injector = any_of(
        "envoy.extensions.http.injected_credentials.generic.v3.Generic", credential=sds("token"), header="authorization"
    )
    per_route = {"x": any_of("envoy.config.route.v3.FilterConfig", config=injector)}
    assert routes({**to("c"), "typed_per_filter_config": per_route}).refs == refs(clusters="c", secrets="token")


def test_assignments_need_nothing() -> None:
    assert made(ENDPOINT, cluster_name="x", endpoints=[{"lb_endpoints": [{}]}]).refs is NO_REFS

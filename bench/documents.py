"""The synthetic world as documents, the way sources hand it over: proto3 JSON, one place for each assignment."""

from __future__ import annotations

from bench.world import ROUTES_NAME, cluster_name
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.origin import Origin
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, PREFIX, ROUTE

_ADS = {"ads": {}, "resource_api_version": "V3"}
_MANAGER = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
_ROUTER = "envoy.extensions.filters.http.router.v3.Router"

Body = dict[str, object]


def cluster(number: int) -> Body:
    """An EDS cluster."""
    return {
        "@type": CLUSTER,
        "name": cluster_name(number),
        "type": "EDS",
        "connect_timeout": "1s",
        "eds_cluster_config": {"eds_config": _ADS},
    }


def assignment(number: int, endpoints: int, generation: int) -> Body:
    """An assignment; the generation is in the port of its first endpoint."""
    addresses = [f"10.{number // 250}.{number % 250}.{index % 250 + 1}" for index in range(endpoints)]
    ports = [8080 + generation % 50000, *[8080] * (endpoints - 1)]
    return {
        "@type": ENDPOINT,
        "cluster_name": cluster_name(number),
        "endpoints": [
            {
                "lb_endpoints": [
                    {"endpoint": {"address": {"socket_address": {"address": address, "port_value": port}}}}
                    for address, port in zip(addresses, ports, strict=True)
                ]
            }
        ],
    }


def listener() -> Body:
    """The one listener."""
    manager = {
        "@type": PREFIX + _MANAGER,
        "stat_prefix": "ingress",
        "rds": {"route_config_name": ROUTES_NAME, "config_source": _ADS},
        "http_filters": [{"name": "envoy.filters.http.router", "typed_config": {"@type": PREFIX + _ROUTER}}],
    }
    name = "envoy.filters.network.http_connection_manager"
    return {
        "@type": LISTENER,
        "name": "listener-0",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 10000}},
        "filter_chains": [{"filters": [{"name": name, "typed_config": manager}]}],
    }


def routes(count: int, clusters: int, generation: int) -> Body:
    """The one route configuration."""
    found = [
        {
            "match": {"prefix": f"/svc-{number:05d}-{generation}"},
            "route": {"cluster": cluster_name(number % clusters)},
        }
        for number in range(count)
    ]
    return {
        "@type": ROUTE,
        "name": ROUTES_NAME,
        "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": found}],
    }


def assignment_unit(group: str, number: int, endpoints: int, generation: int) -> Unit:
    """One assignment as a place of its own, as a file or an object of a cluster would be."""
    name = cluster_name(number)
    body = assignment(number, endpoints, generation)
    return Unit(f"endpoints/{name}", (NativeDocument(group, body, Origin("bench", path=name)),))


def world(group: str, clusters: int, endpoints: int, count: int, generation: int = 0) -> dict[str, Unit]:
    """Everything, by place: all that is not an assignment lies in one."""
    bodies = [*(cluster(number) for number in range(clusters)), listener(), routes(count, clusters, generation)]
    documents = tuple(NativeDocument(group, body, Origin("bench", path="gateway")) for body in bodies)
    units = [assignment_unit(group, number, endpoints, generation) for number in range(clusters)]
    return {unit.key: unit for unit in (Unit("gateway", documents), *units)}

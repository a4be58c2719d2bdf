"""The synthetic world of the benchmarks: the same resources, name for name, as the Go peer serves."""

from __future__ import annotations

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2 as hcm_pb2

from xds_server.translate.messages import pack
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE

_V3 = 2

ROUTES_NAME = "routes-0"
"""The name of the one route configuration."""


class World:
    """Clusters with their assignments, one listener and one route configuration, changing as the Go peer's do."""

    def __init__(self, clusters: int, endpoints: int, routes: int) -> None:
        self.clusters = clusters
        self.endpoints = endpoints
        self.routes = routes
        self._seq = 0

    def change(self, mode: str, count: int) -> dict[str, list[Resource]]:
        """Change everything (`all`; to be called first), or one endpoint of the next `count` clusters; what is new."""
        self._seq += 1
        if mode != "all":
            numbers = {(self._seq * count + index) % self.clusters for index in range(count)}
            return {ENDPOINT: [assignment(number, self.endpoints, self._seq) for number in sorted(numbers)]}
        numbers_of_all = range(self.clusters)
        return {
            CLUSTER: [cluster(number, self._seq) for number in numbers_of_all],
            ENDPOINT: [assignment(number, self.endpoints, self._seq) for number in numbers_of_all],
            LISTENER: [listener(self._seq)],
            ROUTE: [routes(self.routes, self.clusters, self._seq)],
        }


def cluster_name(number: int) -> str:
    """The name of a cluster and its assignment."""
    return f"cluster-{number:05d}"


def cluster(number: int, generation: int) -> Resource:
    """An EDS cluster; the generation is in its connect timeout."""
    message = cluster_pb2.Cluster(name=cluster_name(number), type=cluster_pb2.Cluster.EDS)
    message.connect_timeout.seconds = 1
    message.connect_timeout.nanos = generation % 1000 * 1_000_000
    config = message.eds_cluster_config.eds_config
    config.resource_api_version = _V3
    config.ads.SetInParent()
    return pack(message, message.name, ())


def assignment(number: int, endpoints: int, generation: int) -> Resource:
    """An assignment; the generation is in the port of its first endpoint, as of a pod that came back elsewhere."""
    message = endpoint_pb2.ClusterLoadAssignment(cluster_name=cluster_name(number))
    locality = message.endpoints.add()
    for index in range(endpoints):
        address = locality.lb_endpoints.add().endpoint.address.socket_address
        address.address = f"10.{number // 250}.{number % 250}.{index % 250 + 1}"
        address.port_value = 8080 + (generation % 50000 if index == 0 else 0)
    return pack(message, message.cluster_name, ())


def listener(generation: int) -> Resource:
    """The one listener, with RDS."""
    manager = hcm_pb2.HttpConnectionManager(stat_prefix=f"ingress-{generation}")
    manager.rds.route_config_name = ROUTES_NAME
    manager.rds.config_source.resource_api_version = _V3
    manager.rds.config_source.ads.SetInParent()
    router = manager.http_filters.add(name="envoy.filters.http.router")
    router.typed_config.Pack(router_pb2.Router())
    message = listener_pb2.Listener(name="listener-0")
    message.address.socket_address.address = "127.0.0.1"
    message.address.socket_address.port_value = 10000
    filters = message.filter_chains.add().filters.add(name="envoy.filters.network.http_connection_manager")
    filters.typed_config.Pack(manager)
    return pack(message, message.name, ())


def routes(count: int, clusters: int, generation: int) -> Resource:
    """The one route configuration, of `count` routes over all clusters."""
    message = route_pb2.RouteConfiguration(name=ROUTES_NAME)
    host = message.virtual_hosts.add(name="all", domains=["*"])
    for number in range(count):
        route = host.routes.add()
        route.match.prefix = f"/svc-{number:05d}-{generation}"
        route.route.cluster = cluster_name(number % clusters)
    return pack(message, message.name, ())

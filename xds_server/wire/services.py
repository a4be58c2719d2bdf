"""The gRPC services of xDS: their names, their methods, and the resource type that each of them serves."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from xds_server.wire.types import (
    CLUSTER,
    ENDPOINT,
    EXTENSION,
    LISTENER,
    ROUTE,
    RUNTIME,
    SCOPED_ROUTE,
    SECRET,
    VIRTUAL_HOST,
)


@dataclass(frozen=True, slots=True)
class Service:
    """One discovery service; `type_url` is None for ADS, a method is "" where the service lacks it."""

    name: str
    type_url: str | None
    stream: str
    delta: str
    fetch: str = ""


_ADS = "envoy.service.discovery.v3.AggregatedDiscoveryService"
_ROUTE = "envoy.service.route.v3."

SERVICES = (
    Service(_ADS, None, "StreamAggregatedResources", "DeltaAggregatedResources"),
    Service(
        "envoy.service.cluster.v3.ClusterDiscoveryService", CLUSTER, "StreamClusters", "DeltaClusters", "FetchClusters"
    ),
    Service(
        "envoy.service.endpoint.v3.EndpointDiscoveryService",
        ENDPOINT,
        "StreamEndpoints",
        "DeltaEndpoints",
        "FetchEndpoints",
    ),
    Service(
        "envoy.service.listener.v3.ListenerDiscoveryService",
        LISTENER,
        "StreamListeners",
        "DeltaListeners",
        "FetchListeners",
    ),
    Service(_ROUTE + "RouteDiscoveryService", ROUTE, "StreamRoutes", "DeltaRoutes", "FetchRoutes"),
    Service(
        _ROUTE + "ScopedRoutesDiscoveryService",
        SCOPED_ROUTE,
        "StreamScopedRoutes",
        "DeltaScopedRoutes",
        "FetchScopedRoutes",
    ),
    Service(_ROUTE + "VirtualHostDiscoveryService", VIRTUAL_HOST, "", "DeltaVirtualHosts"),
    Service("envoy.service.secret.v3.SecretDiscoveryService", SECRET, "StreamSecrets", "DeltaSecrets", "FetchSecrets"),
    Service(
        "envoy.service.runtime.v3.RuntimeDiscoveryService", RUNTIME, "StreamRuntime", "DeltaRuntime", "FetchRuntime"
    ),
    Service(
        "envoy.service.extension.v3.ExtensionConfigDiscoveryService",
        EXTENSION,
        "StreamExtensionConfigs",
        "DeltaExtensionConfigs",
        "FetchExtensionConfigs",
    ),
)
"""All that is served (the `.proto` files below envoy/service)."""

_DESCRIPTORS = (
    "envoy.service.discovery.v3.ads_pb2",
    "envoy.service.cluster.v3.cds_pb2",
    "envoy.service.endpoint.v3.eds_pb2",
    "envoy.service.listener.v3.lds_pb2",
    "envoy.service.route.v3.rds_pb2",
    "envoy.service.route.v3.srds_pb2",
    "envoy.service.secret.v3.sds_pb2",
    "envoy.service.runtime.v3.rtds_pb2",
    "envoy.service.extension.v3.config_discovery_pb2",
    "envoy.service.status.v3.csds_pb2",
)


def load_descriptors() -> None:
    """Put the services' descriptors into the default pool, where gRPC reflection looks for them."""
    for module in _DESCRIPTORS:
        importlib.import_module(module)

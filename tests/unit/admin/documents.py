"""Native xDS documents for the world of these tests."""

from __future__ import annotations

from xds_server.ir.origin import Origin
from xds_server.wire.types import CLUSTER, ENDPOINT, ROUTE, SECRET

KEY = "-----BEGIN PRIVATE KEY----- planted -----END PRIVATE KEY-----"

ORIGIN = Origin("files", "world.yaml", 1, 3, CLUSTER, "Cluster", "", "one")
ORIGIN_JSON = {
    "source": "files",
    "path": "world.yaml",
    "document": 1,
    "line": 3,
    "apiVersion": CLUSTER,
    "kind": "Cluster",
    "namespace": "",
    "name": "one",
    "generation": 0,
}


def cluster(name: str) -> dict[str, object]:
    """An EDS cluster."""
    config = {"eds_config": {"ads": {}, "resource_api_version": "V3"}}
    return {
        "@type": CLUSTER,
        "name": name,
        "type": "EDS",
        "connect_timeout": "1s",
        "eds_cluster_config": config,
    }


def endpoints(name: str, port: int) -> dict[str, object]:
    """A load assignment with one endpoint."""
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    return {
        "@type": ENDPOINT,
        "cluster_name": name,
        "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
    }


def route(name: str, target: str) -> dict[str, object]:
    """A route configuration that sends all to one cluster."""
    routes = [{"match": {"prefix": "/"}, "route": {"cluster": target}}]
    return {"@type": ROUTE, "name": name, "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]}


def secret(name: str, key: str) -> dict[str, object]:
    """A certificate with its private key."""
    certificate = {"certificate_chain": {"inline_string": "chain"}, "private_key": {"inline_string": key}}
    return {"@type": SECRET, "name": name, "tls_certificate": certificate}

"""The demo's configuration as native xDS documents: plain values in proto3 JSON, one builder per type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Document = dict[str, Any]
"""One xDS resource or a part of one, in proto3 JSON."""

_PREFIX = "type.googleapis.com/envoy."
_ADS: Document = {"resource_api_version": "V3", "ads": {}}


def cluster(name: str, **fields: Any) -> Document:
    """A cluster whose endpoints come over ADS under its own name; `fields` are added or replaced."""
    return {
        "@type": f"{_PREFIX}config.cluster.v3.Cluster",
        "name": name,
        "type": "EDS",
        "eds_cluster_config": {"eds_config": dict(_ADS)},
        "connect_timeout": "1s",
        **fields,
    }


def assignment(name: str, ports: Iterable[int | str], *, health: str | None = None) -> Document:
    """The endpoints of cluster `name`: each of `ports` is a port of 127.0.0.1 or a `host:port`."""
    return {
        "@type": f"{_PREFIX}config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": name,
        "endpoints": [{"lb_endpoints": [_endpoint(port, health) for port in ports]}],
    }


def empty_assignment(name: str) -> Document:
    """An assignment that says: this cluster has no endpoints."""
    return {"@type": f"{_PREFIX}config.endpoint.v3.ClusterLoadAssignment", "cluster_name": name}


def routes(name: str, entries: Sequence[Document]) -> Document:
    """A route configuration with one virtual host for all domains."""
    return {
        "@type": f"{_PREFIX}config.route.v3.RouteConfiguration",
        "name": name,
        "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": list(entries)}],
    }


def route(to: str, *, prefix: str = "/") -> Document:
    """A route of all paths below `prefix` to cluster `to`."""
    return {"match": {"prefix": prefix}, "route": {"cluster": to}}


def refused_route(to: str) -> Document:
    """A route that is well-formed for a control plane and that Envoy refuses: its regex does not compile."""
    return {"match": {"safe_regex": {"regex": "["}}, "route": {"cluster": to}}


def listener(name: str, route_config: str, *, port: int = 0, tls: Document | None = None, **fields: Any) -> Document:
    """An HTTP listener on 127.0.0.1 whose routes come over ADS. Port 0: each Envoy takes a free one.

    `tls` is a `DownstreamTlsContext` without its type; `fields` are added or replaced.
    """
    chain: Document = {"filters": [_connection_manager(name, route_config)]}
    if tls is not None:
        chain["transport_socket"] = transport_socket("DownstreamTlsContext", tls)
    return {
        "@type": f"{_PREFIX}config.listener.v3.Listener",
        "name": name,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
        "filter_chains": [chain],
        **fields,
    }


def transport_socket(kind: str, context: Document) -> Document:
    """A TLS transport socket; `kind` is `DownstreamTlsContext` or `UpstreamTlsContext`."""
    typed = {"@type": f"{_PREFIX}extensions.transport_sockets.tls.v3.{kind}", **context}
    return {"name": "envoy.transport_sockets.tls", "typed_config": typed}


def secret_reference(name: str) -> Document:
    """A TLS context's own certificate, by the name of a secret that comes over ADS."""
    return {"common_tls_context": {"tls_certificate_sds_secret_configs": [{"name": name, "sds_config": dict(_ADS)}]}}


def certificate_secret(name: str, chain: str, key: str) -> Document:
    """A secret with a certificate chain and its private key, both PEM."""
    return {
        "@type": f"{_PREFIX}extensions.transport_sockets.tls.v3.Secret",
        "name": name,
        "tls_certificate": {
            "certificate_chain": {"inline_string": chain},
            "private_key": {"inline_string": key},
        },
    }


def _endpoint(port: int | str, health: str | None) -> Document:
    host, _, number = str(port).rpartition(":")
    address = {"address": host or "127.0.0.1", "port_value": int(number)}
    entry: Document = {"endpoint": {"address": {"socket_address": address}}}
    return entry if health is None else {**entry, "health_status": health}


def _connection_manager(name: str, route_config: str) -> Document:
    router = {"@type": f"{_PREFIX}extensions.filters.http.router.v3.Router"}
    return {
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": {
            "@type": f"{_PREFIX}extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": name,
            "rds": {"route_config_name": route_config, "config_source": dict(_ADS)},
            "http_filters": [{"name": "envoy.filters.http.router", "typed_config": router}],
            "access_log": [_failures_only()],
        },
    }


def _failures_only() -> Document:
    """An access log that tells only of answers from 500 on, with Envoy's reason (response flags)."""
    threshold = {"default_value": 500, "runtime_key": "demo.access_log.min_status"}
    return {
        "name": "envoy.access_loggers.stdout",
        "filter": {"status_code_filter": {"comparison": {"op": "GE", "value": threshold}}},
        "typed_config": {"@type": f"{_PREFIX}extensions.access_loggers.stream.v3.StdoutAccessLog"},
    }

"""Manifests of gateways and what they lead to, as plain values: for tests that write files."""

from __future__ import annotations

import base64
from typing import Any

from tests.support.certificates import Pair

Manifest = dict[str, Any]

HTTP: Manifest = {"name": "http", "port": 0, "address": "127.0.0.1"}
"""A listener on a free port of this machine."""

HTTP_NAME = "http-default-web-http"
"""What Envoy calls that listener of gateway `web`."""


def service(name: str, **port: Any) -> Manifest:
    """A Service of port 80; `port` has further fields of it."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80, **port}]},
    }


def endpoint_slice(service: str, *, port: int | None = None, ready: bool = True, number: int = 0) -> Manifest:
    """A slice with one endpoint on this machine; without a port there is none in it."""
    endpoint = {"addresses": ["127.0.0.1"], "conditions": {"ready": ready}}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{service}-{number}", "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4",
        "ports": [] if port is None else [{"port": port}],
        "endpoints": [] if port is None else [endpoint],
    }


def backend(name: str, *ports: int, **fields: Any) -> list[Manifest]:
    """A Service with a slice for each port of this machine where it is served; `fields` are those of its port."""
    slices = [endpoint_slice(name, port=port, number=number) for number, port in enumerate(ports)]
    return [service(name, **fields), *slices]


def route(name: str, path: str = "/", **fields: Any) -> Manifest:
    """A route; its Service has the route's name unless `backendService` says otherwise."""
    return {"name": name, "path": path, "backendService": fields.pop("backendService", name), **fields}


def gateway(*routes: Manifest, name: str = "web", **spec: Any) -> Manifest:
    """A DynamicGateway, on a free port of this machine unless `listeners` says otherwise."""
    return {
        "apiVersion": "gateway.tidegate.dev/v1alpha1",
        "kind": "DynamicGateway",
        "metadata": {"name": name},
        "spec": {"listeners": spec.pop("listeners", [HTTP]), "routes": list(routes), **spec},
    }


def tls_secret(name: str, pair: Pair) -> Manifest:
    """A Secret with a certificate."""
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name},
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }

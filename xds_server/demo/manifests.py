"""Manifests as plain values, one builder per kind: what the demo and tests declare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Manifest = dict[str, Any]
"""One Kubernetes-style object."""

NAMESPACE = "shop"


def service(name: str, *, namespace: str = NAMESPACE) -> Manifest:
    """A service with one port, 80."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"ports": [{"name": "http", "port": 80}]},
    }


def endpoint_slices(of: str, ports: Iterable[int], *, namespace: str = NAMESPACE) -> list[Manifest]:
    """The endpoints of service `of`, one for each of `ports` of 127.0.0.1: a slice each, since a slice has one port."""
    return [
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "namespace": namespace,
                "name": f"{of}-{port}",
                "labels": {"kubernetes.io/service-name": of},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["127.0.0.1"]}],
            "ports": [{"name": "http", "port": port}],
        }
        for port in ports
    ]


def route(name: str, backend: str, *, path: str = "/", **fields: Any) -> Manifest:
    """An entry of `spec.routes` to service `backend`; `fields` are added by their names in the manifest."""
    return {"name": name, "path": path, "backendService": backend, **fields}


def gateway(name: str, routes: Sequence[Manifest], *, namespace: str = NAMESPACE, **spec: Any) -> Manifest:
    """A DynamicGateway with a listener on 127.0.0.1 for which each Envoy takes a free port; `spec` adds fields."""
    return {
        "apiVersion": "gateway.tidegate.dev/v1alpha1",
        "kind": "DynamicGateway",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "listeners": [{"name": "http", "address": "127.0.0.1", "port": 0}],
            "routes": list(routes),
            **spec,
        },
    }

"""Manifests of gateways and what they lead to, as plain values, one builder per kind: for the demo and for tests."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]
"""One Kubernetes-style object, or a part of one."""

DEFAULT = "default"
"""The namespace of what names none."""

HTTP: Manifest = {"name": "http", "address": "127.0.0.1", "port": 0}
"""A listener on a port of this machine that each Envoy takes as it is free."""


def listener_name(gateway: str, namespace: str = DEFAULT) -> str:
    """What Envoy calls the listener `HTTP` of a gateway."""
    return f"http-{namespace}-{gateway}-http"


def service(name: str, *, namespace: str = DEFAULT, **port: Any) -> Manifest:
    """A Service of port 80; `port` has further fields of it."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"ports": [{"port": 80, **port}]},
    }


def endpoint_slice(
    of: str,
    *,
    port: int | None = None,
    ready: bool = True,
    number: int = 0,
    namespace: str = DEFAULT,
    address: str = "127.0.0.1",
) -> Manifest:
    """A slice of service `of` with one endpoint, on this machine by default; without a port there is none in it."""
    endpoint = {"addresses": [address], "conditions": {"ready": ready}}
    labels = {"kubernetes.io/service-name": of}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"namespace": namespace, "name": f"{of}-{number}", "labels": labels},
        "addressType": "IPv4",
        "ports": [] if port is None else [{"port": port}],
        "endpoints": [] if port is None else [endpoint],
    }


def backend(name: str, *ports: int, namespace: str = DEFAULT, **fields: Any) -> list[Manifest]:
    """A Service with a slice for each port of this machine where it is served; `fields` are those of its port."""
    slices = [endpoint_slice(name, port=port, number=at, namespace=namespace) for at, port in enumerate(ports)]
    return [service(name, namespace=namespace, **fields), *slices]


def route(name: str, path: str = "/", **fields: Any) -> Manifest:
    """A route; its Service has the route's name unless `backendService` says otherwise."""
    return {"name": name, "path": path, "backendService": fields.pop("backendService", name), **fields}


def gateway(*routes: Manifest, name: str = "web", namespace: str = DEFAULT, **spec: Any) -> Manifest:
    """A DynamicGateway with the listener `HTTP` unless `listeners` says otherwise."""
    return {
        "apiVersion": "gateway.tidegate.dev/v1alpha1",
        "kind": "DynamicGateway",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"listeners": spec.pop("listeners", [HTTP]), "routes": list(routes), **spec},
    }

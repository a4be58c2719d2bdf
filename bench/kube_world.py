"""A cluster of a given size for the benchmark of Kubernetes: made on a real API server, and changed at a given rate."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from tests.support.kube import Kube
from tests.support.kube_shop import install

NAMESPACE = "bench"
GROUPS = 20
ENDPOINTS = 10
"""In each slice."""

_MAKERS = 8
_SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"


class World:
    """`gateways` of one route each, as many Services, and `slices` spread over these. Gateways are in 20 groups."""

    def __init__(self, kube: Kube, slices: int, gateways: int) -> None:
        self.kube = kube
        self.slices = slices
        self.gateways = gateways

    def make(self) -> None:
        """Make it all."""
        install(self.kube)
        self.kube.client.namespace(NAMESPACE)
        base = "/apis/gateway.tidegate.dev/v1alpha1"
        wanted = [(f"/api/v1/namespaces/{NAMESPACE}/services", _service(number)) for number in range(self.gateways)]
        wanted += [(_SLICES, _slice(number, number % self.gateways)) for number in range(self.slices)]
        wanted += [
            (f"{base}/namespaces/{NAMESPACE}/dynamicgateways", _gateway(number)) for number in range(self.gateways)
        ]
        with ThreadPoolExecutor(_MAKERS) as pool:
            list(pool.map(lambda each: self.kube.client.raw("POST", *each), wanted))

    def move(self, number: int, address: str) -> None:
        """Give a slice one endpoint at that address."""
        body = {"endpoints": [{"addresses": [address], "conditions": {"ready": True}}]}
        self.kube.client.raw("PATCH", f"{_SLICES}/slice-{number}", body, "application/merge-patch+json")

    @contextmanager
    def churning(self, rate: float) -> Iterator[None]:
        """Move slices, never the first one, so many a second, as long as it lasts."""
        over = threading.Event()
        workers = [threading.Thread(target=self._churn, args=(over, rate / 4, seed)) for seed in range(4)]
        for each in workers:
            each.start()
        try:
            yield
        finally:
            over.set()
            for each in workers:
                each.join()

    def _churn(self, over: threading.Event, rate: float, seed: int) -> None:
        chance, due = random.Random(seed), time.monotonic()
        while not over.wait(max(0.0, due - time.monotonic())):
            due = max(due + 1 / rate, time.monotonic() - 1)
            self.move(chance.randrange(1, self.slices), f"10.9.{chance.randrange(256)}.{chance.randrange(1, 255)}")


def _service(number: int) -> dict[str, Any]:
    # Headless: an address for each would take the API server longer than all the rest.
    return _named(
        "v1", "Service", f"service-{number}", spec={"clusterIP": "None", "ports": [{"name": "http", "port": 80}]}
    )


def _slice(number: int, service: int) -> dict[str, Any]:
    ready = {"ready": True, "serving": True, "terminating": False}
    endpoints = [
        {
            "addresses": [f"10.{number // 250}.{number % 250}.{each + 1}"],
            "conditions": ready,
            "nodeName": f"node-{each}",
            "zone": f"zone-{each % 3}",
            "targetRef": {"kind": "Pod", "namespace": NAMESPACE, "name": f"pod-{number}-{each}"},
        }
        for each in range(ENDPOINTS)
    ]
    made = _named("discovery.k8s.io/v1", "EndpointSlice", f"slice-{number}")
    made["metadata"]["labels"] = {"kubernetes.io/service-name": f"service-{service}"}
    return {**made, "addressType": "IPv4", "ports": [{"name": "http", "port": 8080}], "endpoints": endpoints}


def _gateway(number: int) -> dict[str, Any]:
    route = {"name": "all", "path": "/", "hosts": [f"g{number}.example"], "backendService": f"service-{number}"}
    spec = {"listeners": [{"name": "http", "port": 8080}], "routes": [route]}
    made = _named("gateway.tidegate.dev/v1alpha1", "DynamicGateway", f"gateway-{number}", spec=spec)
    made["metadata"]["annotations"] = {"tidegate.dev/group": f"g{number % GROUPS}"}
    return made


def _named(api_version: str, kind: str, name: str, **more: object) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **more}

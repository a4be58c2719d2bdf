"""The demo's files: manifests of a gateway, its services and their endpoints, and now and then a native document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from xds_server.demo.backends import Backend
from xds_server.demo.kafka import GROUP, TOPIC
from xds_server.demo.manifests import Manifest, endpoint_slice, gateway, listener_name, route, service
from xds_server.demo.world import listener, refused_route, routes
from xds_server.demo.yaml_files import write_documents

NAMESPACE, GATEWAY, ROUTE = "shop", "checkout", "orders"

LISTENER = listener_name(GATEWAY, NAMESPACE)
"""The name of the gateway's listener in Envoy."""

THRESHOLD, RECOVER = 100, 40
"""Messages of lag: more than that degrades the route; at most so many bring it back."""

DWELL = 6.0
"""Seconds for which a switch stands at least."""

LITE = "checkout-lite"
"""The service and the backend for bad times."""


class Scene:
    """Writes the files of `folder`. `backends` are those of good times, which take turns."""

    def __init__(self, folder: Path, backends: Sequence[Backend], lite: Backend) -> None:
        """Write to `folder`; nothing is written yet. Each backend is a service of its own name."""
        self.folder = folder
        self.lite = lite.name
        self._backends = backends
        self._all = (*backends, lite)
        self._turn = 0

    @property
    def primary(self) -> str:
        """The service, and the backend, of good times."""
        return self._backends[self._turn % len(self._backends)].name

    @property
    def clusters(self) -> set[str]:
        """The names of the clusters that Envoys need now."""
        return {f"{NAMESPACE}/{name}/80" for name in (self.primary, self.lite)}

    def write(self) -> None:
        """Write everything as it stands."""
        services = [service(each.name, namespace=NAMESPACE) for each in self._all]
        slices = [endpoint_slice(each.name, port=each.port, namespace=NAMESPACE) for each in self._all]
        write_documents(self.folder / "services.yaml", services)
        write_documents(self.folder / "endpoints.yaml", slices)
        self._write_gateway()

    def move(self) -> None:
        """Let the route lead to the next service in good times; the cluster of the last one is no longer needed."""
        self._turn += 1
        self._write_gateway()

    def spoil(self) -> None:
        """Add a native listener with a route that Envoy refuses."""
        entries = [refused_route(f"{NAMESPACE}/{self.primary}/80")]
        write_documents(self._native, [listener("native", "native-routes"), routes("native-routes", entries)])

    def repair(self) -> None:
        """Take the refused document away again."""
        self._native.unlink(missing_ok=True)

    @property
    def _native(self) -> Path:
        return self.folder / "native.yaml"

    def _write_gateway(self) -> None:
        write_documents(self.folder / "gateway.yaml", [gateway(self._route(), name=GATEWAY, namespace=NAMESPACE)])

    def _route(self) -> Manifest:
        return route(
            ROUTE,
            backendService=self.primary,
            degradeService=self.lite,
            kafkaConsumerGroup=GROUP,
            kafkaTopics=[TOPIC],
            kafkaLagThreshold=THRESHOLD,
            recoverThreshold=RECOVER,
            minDwell=f"{DWELL:g}s",
        )

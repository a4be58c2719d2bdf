"""The demo's one file of xDS documents: which backend is served, through which freshly named cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from xds_server.demo.backends import Backend
from xds_server.demo.world import Document, assignment, cluster, listener, refused_route, route, routes
from xds_server.demo.yaml_files import write_documents

LISTENER = "demo"
ROUTES = "demo-routes"


class Scene:
    """Writes `world.yaml`. Every move names a new cluster for the next backend, so the old one has to go."""

    def __init__(self, file: Path, backends: Sequence[Backend]) -> None:
        """Write to `file`, and take `backends` in turn; nothing is written yet."""
        self._file = file
        self._backends = backends
        self._generation = 0

    @property
    def backend(self) -> str:
        """The name of the backend that answers now."""
        return self._current.name

    @property
    def cluster(self) -> str:
        """The name of the cluster that the route leads to now."""
        return f"{self.backend}-{self._generation}"

    @property
    def _current(self) -> Backend:
        return self._backends[self._generation % len(self._backends)]

    def write(self) -> None:
        """Write the configuration as it stands."""
        self._write([route(self.cluster)])

    def move(self) -> None:
        """Move the route to a freshly added cluster for the next backend; the old cluster goes."""
        self._generation += 1
        self.write()

    def spoil(self) -> None:
        """Put a route before the good one that Envoy refuses, and so the whole route configuration."""
        self._write([refused_route(self.cluster), route(self.cluster)])

    def _write(self, entries: Sequence[Document]) -> None:
        documents = (
            cluster(self.cluster),
            assignment(self.cluster, [self._current.port]),
            listener(LISTENER, ROUTES),
            routes(ROUTES, entries),
        )
        write_documents(self._file, documents)

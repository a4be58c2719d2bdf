"""Random edits of endpoint files, and what must be served once they end."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

from xds_server.demo.world import assignment
from xds_server.demo.yaml_files import to_yaml, write_documents


class Churn:
    """Edits files that hold the endpoints of services: adds, removes, moves and recreates, seeded.

    Each service's assignment lies in one file of several; a file may hold several services or be gone.
    """

    FILES = 4

    def __init__(self, folder: Path, services: list[str], rng: random.Random) -> None:
        """Write the first state: one endpoint for each service."""
        self._folder = folder
        self._rng = rng
        self._next = 0
        self._endpoints = {service: {self._fresh()} for service in services}
        self._home = {service: f"endpoints-{number % self.FILES}" for number, service in enumerate(services)}
        for file in set(self._home.values()):
            self._write(file)

    def wanted(self) -> dict[str, set[str]]:
        """The endpoints of each service as the files stand."""
        return {service: set(endpoints) for service, endpoints in self._endpoints.items()}

    async def run(self, edits: int, per_second: float) -> None:
        """Make `edits` edits on a steady beat."""
        started = time.monotonic()
        for number in range(edits):
            self.edit()
            await asyncio.sleep(max(0.0, started + (number + 1) / per_second - time.monotonic()))

    def edit(self) -> None:
        """Make one random edit."""
        service = self._rng.choice(sorted(self._endpoints))
        action = self._rng.choices([self._add, self._remove, self._move, self._rename], weights=[5, 4, 2, 1])[0]
        action(service)

    def _add(self, service: str) -> None:
        self._endpoints[service].add(self._fresh())
        self._write(self._home[service])

    def _remove(self, service: str) -> None:
        """Take one away; the last one too, which leaves an assignment without endpoints."""
        if self._endpoints[service]:
            self._endpoints[service].discard(self._rng.choice(sorted(self._endpoints[service])))
        # In place, so that the files source has to wait for the writer to come to rest.
        self._write(self._home[service], in_place=self._rng.random() < 0.2)

    def _move(self, service: str) -> None:
        """Move the service to another file; for a moment both hold it."""
        left, taken = self._home[service], self._rng.choice([f"endpoints-{number}" for number in range(self.FILES)])
        self._home[service] = taken
        self._write(taken)
        self._write(left)

    def _rename(self, service: str) -> None:
        """Delete the service's file and create one with a name that was never there."""
        left, self._next = self._home[service], self._next + 1
        fresh = f"endpoints-{self._next}-again"
        self._home = {name: fresh if home == left else home for name, home in self._home.items()}
        (self._folder / f"{left}.yaml").unlink()
        self._write(fresh)

    def _write(self, file: str, *, in_place: bool = False) -> None:
        path = self._folder / f"{file}.yaml"
        services = [service for service, home in self._home.items() if home == file]
        documents = [assignment(service, sorted(self._endpoints[service])) for service in services]
        if not services:
            path.unlink(missing_ok=True)
        elif in_place:
            path.write_text(to_yaml(*documents))
        else:
            write_documents(path, documents)

    def _fresh(self) -> str:
        self._next += 1
        return f"127.2.{self._next // 250}.{self._next % 250 + 1}:8080"

"""Informers in tests: ConfigMaps as the simplest objects there are, what was told of them, and waiting for it."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import msgspec

from k8s_source.client.api import Api
from k8s_source.client.connect import Connection, connect
from k8s_source.client.resource import Resource
from k8s_source.informer.condition import Condition
from k8s_source.informer.informer import Informer
from k8s_source.informer.item import Change
from k8s_source.informer.shared import Informers
from tests.support.kube_client import Object

SLACK = float(os.environ.get("TIDEGATE_TEST_SLACK", "3"))

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
Data = Mapping[str, str]


class _ConfigMap(msgspec.Struct):
    api_version: str = msgspec.field(name="apiVersion")
    kind: str
    data: dict[str, str] = msgspec.field(default_factory=dict)


def data_of(body: bytes) -> Data:
    """The data of a ConfigMap, whose JSON has to say that it is one."""
    found = msgspec.json.decode(body, type=_ConfigMap)
    assert (found.api_version, found.kind) == ("v1", "ConfigMap")
    return found.data


def config_map(namespace: str, name: str, labels: Mapping[str, str] | None = None, **data: str) -> Object:
    """A ConfigMap."""
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@dataclass
class Told:
    """All that an informer has told one follower, and the world as that follower knows it."""

    informer: Informer[Data]
    batches: list[Sequence[Change[Data]]] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    world: dict[str, Data] = field(default_factory=dict)
    smallest: int | None = None
    """The fewest objects there were after a batch."""

    def __post_init__(self) -> None:
        """Follow."""
        self.informer.follow(self._changed, lambda: self.conditions.append(self.informer.condition))

    def _changed(self, changes: Sequence[Change[Data]]) -> None:
        self.batches.append(changes)
        for change in changes:
            name = change.key.name
            before = self.world.pop(name, None)
            assert (change.before.body if change.before else None) == before
            if change.after is not None:
                self.world[name] = change.after.body
        self.smallest = len(self.world) if self.smallest is None else min(self.smallest, len(self.world))

    @property
    def changes(self) -> list[Change[Data]]:
        """All changes in order."""
        return [change for batch in self.batches for change in batch]


@asynccontextmanager
async def connected(options: Connection, environ: Mapping[str, str] = os.environ) -> AsyncIterator[Api]:
    """A client that is closed afterwards."""
    api = connect(options, environ)
    try:
        yield api
    finally:
        await api.close()


@asynccontextmanager
async def running(informers: Informers) -> AsyncIterator[None]:
    """Informers that run."""
    task = asyncio.create_task(informers.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(is_so: Callable[[], bool], limit: float = 5.0) -> float:
    """Wait until it is so; the seconds that took. `limit` is multiplied by the slack of tests."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not is_so():
        assert loop.time() - began < limit * SLACK, f"not so within {limit} s"
        await asyncio.sleep(0.02)
    return loop.time() - began


@dataclass
class Counts:
    """A meter that tests read."""

    lists: Counter[str] = field(default_factory=Counter)
    watches: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)

    def listed(self, resource: str, seconds: float) -> None:
        """Count a list."""
        assert seconds >= 0
        self.lists[resource] += 1

    def watched(self, resource: str) -> None:
        """Count a watch."""
        self.watches[resource] += 1

    def watch_ended(self, resource: str, reason: str) -> None:
        """Count how it ended."""
        assert resource in self.watches
        self.ended[reason] += 1

    def watch_event(self, resource: str, kind: str) -> None:
        """Count an event."""
        assert resource in self.watches
        self.events[kind] += 1

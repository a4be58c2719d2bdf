"""What the admin API reads: handed in by the composition root, so that the API knows nobody by itself."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import web

from xds_server.admin.worker import Worker
from xds_server.ir.facts import Observation
from xds_server.snapshot.feed import SourceReport
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.snapshot import Hold, Snapshot
from xds_server.sources.push import PushSource
from xds_server.status.audit import Audit
from xds_server.status.bulletin import Bulletin
from xds_server.status.events import EventBus
from xds_server.status.gateway_book import GatewayBook
from xds_server.status.replicas import Replicas
from xds_server.status.state import OnDisk
from xds_server.status.switchboard import Switchboard
from xds_server.status.tracker import Tracker
from xds_server.wire.resource import Resource

Render = Callable[[Resource], Mapping[str, object]]
"""A resource as proto3 JSON values, without private keys."""


class Rollbacks(Protocol):
    """Holds groups at versions (the pipeline)."""

    async def hold(self, group: str, held: Hold, version: Snapshot) -> Snapshot:
        """Have a group go back to a version and stay there; the snapshot that is served from then on."""

    async def release(self, group: str, reason: str) -> Snapshot:
        """Have a group go on; the snapshot that is served from then on."""


@dataclass(frozen=True)
class Evidence:
    """What goes into an archive beside what is served.

    `inputs` reads files, so it is for the worker thread; `objects` gives the manifests of a cluster.
    """

    inputs: Callable[[], Sequence[Mapping[str, object]]] = tuple
    objects: Callable[[], Sequence[Mapping[str, object]]] = tuple
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class AdminDeps:
    """All that the handlers use. Every call but `render` is made on the event loop; `render` in a worker thread.

    `ready` gives None, or why the process is not ready. `metrics_text` takes an `Accept` header and gives body
    and content type. `observations` is all that observers know; `clock` gives POSIX seconds. `stored` waits until what is served, and the audit log, are on disk; `on_disk` tells what of a snapshot is by now. `push` is None where no source of that kind is configured. `bulletin` is what this replica tells the others, `replicas` what they tell.
    """

    groups: Groups
    tracker: Tracker
    bus: EventBus
    sources: Callable[[], Sequence[SourceReport]]
    ready: Callable[[], str | None]
    render: Render
    metrics_text: Callable[[str], Awaitable[tuple[bytes, str]]]
    rollbacks: Rollbacks
    audit: Audit
    stored: Callable[[], Awaitable[None]]
    gateways: GatewayBook
    observations: Callable[[], Sequence[Observation]]
    switches: Switchboard
    bulletin: Bulletin
    replicas: Replicas
    push: PushSource | None = None
    evidence: Evidence = Evidence()
    on_disk: Callable[[Snapshot], OnDisk | None] = lambda _snapshot: None
    clock: Callable[[], float] = time.time


DEPS = web.AppKey("deps", AdminDeps)
"""Where the handlers find them in the application."""

WORKER = web.AppKey("worker", Worker)
"""Where the handlers find the thread for costly answers."""

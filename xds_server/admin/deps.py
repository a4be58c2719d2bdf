"""What the admin API reads: handed in by the composition root, so that the API knows nobody by itself."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aiohttp import web

from xds_server.admin.worker import Worker
from xds_server.snapshot.feed import SourceReport
from xds_server.snapshot.groups import Groups
from xds_server.status.events import EventBus
from xds_server.status.tracker import Tracker
from xds_server.wire.resource import Resource

Render = Callable[[Resource], Mapping[str, object]]
"""A resource as proto3 JSON values, without private keys."""


@dataclass(frozen=True)
class AdminDeps:
    """All that the handlers use. Every call but `render` is made on the event loop; `render` in a worker thread.

    `ready` gives None, or why the process is not ready. `metrics_text` takes an `Accept` header and gives body
    and content type. `replica` is this process's name among replicas (in Kubernetes the pod's).
    """

    groups: Groups
    tracker: Tracker
    bus: EventBus
    sources: Callable[[], Sequence[SourceReport]]
    ready: Callable[[], str | None]
    render: Render
    metrics_text: Callable[[str], Awaitable[tuple[bytes, str]]]
    replica: str = field(default_factory=socket.gethostname)


DEPS = web.AppKey("deps", AdminDeps)
"""Where the handlers find them in the application."""

WORKER = web.AppKey("worker", Worker)
"""Where the handlers find the thread for costly answers."""

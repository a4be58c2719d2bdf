"""Makes what tells of what happens: metrics, events, audit, traces."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from importlib.metadata import version

from xds_server.status.audit import Audit
from xds_server.status.events import EventBus
from xds_server.status.state import State
from xds_server.telemetry.metrics import Metrics
from xds_server.telemetry.tracing import Traces, from_environment


@dataclass(frozen=True, slots=True)
class Telling:
    """Who is told of what happens: the log and the admin API by the bus, people by the audit log, machines by metrics."""

    metrics: Metrics
    bus: EventBus
    audit: Audit
    traces: Traces


def make_telling(state: State) -> Telling:
    """Make them; event ids go on from those of the audit log."""
    bus = EventBus(time.time, state.journal.last_id if state.journal else 0)
    traces = from_environment(version("tidegate"), os.environ)
    return Telling(Metrics(version("tidegate")), bus, Audit(bus, time.time, state.journal), traces)

"""What joins switches and the breaker on degradation with the way of configuration, and with what is remembered."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from xds_server.app.watching import Watching
from xds_server.derive.mass_breaker import BreakerState, Limits
from xds_server.ir.facts import FactChanges, RouteKey, Verdict
from xds_server.settings.root import Settings
from xds_server.snapshot.pipeline import Pipeline
from xds_server.status.brake import Brake, Emit, Meter
from xds_server.status.state import State
from xds_server.status.switchboard import Switchboard


def governing(settings: Settings, state: State, pipeline: Pipeline, emit: Emit, meter: Meter) -> Switchboard:
    """The switchboard, with what was decided before; nothing is in force yet."""
    breaker, restored = settings.degradation.breaker, state.governed
    limits = Limits(breaker.percent, breaker.window, breaker.minimum)
    brake = Brake(limits, time.time, emit, meter, BreakerState(restored.turned, restored.tripped, restored.held))
    return Switchboard(time.time, emit, pipeline.govern, brake, keep=state.keep_governed, restored=restored)


def connect(board: Switchboard, watching: Watching, pipeline: Pipeline) -> None:
    """Have the verdicts that count derived, and what is held told and remembered."""

    def count(verdicts: Mapping[RouteKey, Verdict]) -> None:
        pipeline.observe(FactChanges(verdicts))

    def changed(routes: Iterable[RouteKey]) -> None:
        watching.noted(routes)
        board.remember()

    board.brake.connect(lambda: watching.judge.routes, count, changed)

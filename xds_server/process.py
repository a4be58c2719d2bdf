"""How a server's process is set up, apart from what it serves: Python's collector, and gRPC's way of listening."""

from __future__ import annotations

import gc
from collections.abc import MutableMapping

_THRESHOLDS = (5_000, 20, 100)
"""New containers before the young are looked at, and how many such looks there are to one at older ones."""

_EXPERIMENTS = "GRPC_EXPERIMENTS"


def listen_directly(environment: MutableMapping[str, str]) -> None:
    """Have gRPC's C core serve connections in the thread that polls them. To be called before `grpc` is imported.

    By default its EventEngine hands every read on to a pool of threads. With a thousand connections the switches
    between them cost an eighth of a change's CPU, and nearly half of the time until the last stream has it
    (docs/performance.md). The listener before that one is still there, behind the switch of an experiment
    (gRPC core, doc/environment_variables.md); whoever sets the variable has the last word.
    """
    environment.setdefault(_EXPERIMENTS, "-event_engine_listener")


def look_seldom() -> None:
    """Look for garbage in cycles less often than Python does by itself.

    A server keeps much and makes little of it. With the usual thresholds all that is kept is looked at again and
    again: a tenth of the CPU of a change for 1,000 streams, and a pause of up to a second with 10,000 clusters.
    """
    gc.set_threshold(*_THRESHOLDS)


def keep() -> None:
    """Look at what there is once, then never again: it is here to stay. Holds everything for a moment."""
    gc.collect()
    gc.freeze()

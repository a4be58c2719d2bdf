"""How a server's process is set up, apart from what it serves: Python's collector, and gRPC's way of listening."""

from __future__ import annotations

import gc
from collections.abc import MutableMapping

_THRESHOLDS = (5_000, 10, 200)
"""New containers before the youngest are looked at, how many such looks there are to one at the young, and of these to one at all.

A look at the young is one at 55,000 containers at most: some 10 ms, for which everything stands still.
"""

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
    """Never look again at what there is: it is here to stay.

    Only the young are looked at once more. A look at all would hold everything for 0.4 s with 5,000 routes, to find
    ten containers (docs/performance.md).
    """
    gc.collect(1)
    gc.freeze()

"""What derivation is told from outside, as inputs: verdicts, fleets, and the memory of what was decided and served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from xds_server.derive.collection import Input
from xds_server.derive.engine import Engine
from xds_server.ir.backend import BackendKey, Locality
from xds_server.ir.decision import Choice
from xds_server.ir.facts import RouteKey, Verdict
from xds_server.ir.switches import Frozen, Value


class Remembered(NamedTuple):
    """The last decision of a route that led somewhere healthy: primary or degraded, and to which backend."""

    choice: Choice
    backend: BackendKey


@dataclass(frozen=True, slots=True)
class Facts:
    """The inputs that are no objects.

    `verdicts`: none is as good as normal. `fleets`: among how many Envoys of a group quotas are shared, none is one. `decided` and `endpoints` are the memory, of routes and of backends: they are
    written after a round and may be read only where nothing is healthy, so what is written changes no decision.
    `modes` is what operators say of degradation, by route as text or for all; `frozen` are the routes that stay as they were.
    `drained` are the backends without endpoints that are no more served those which are remembered.
    """

    verdicts: Input[RouteKey, Verdict]
    fleets: Input[str, int]
    decided: Input[RouteKey, Remembered]
    endpoints: Input[BackendKey, tuple[Locality, ...]]
    modes: Input[str, Value]
    frozen: Input[RouteKey, Frozen]
    drained: Input[BackendKey, bool]


def facts_of(engine: Engine) -> Facts:
    """New inputs for facts."""
    return Facts(
        engine.input("verdicts"),
        engine.input("fleets"),
        engine.input("decided"),
        engine.input("endpoints"),
        engine.input("modes"),
        engine.input("frozen"),
        engine.input("drained"),
    )

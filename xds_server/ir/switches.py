"""Switches: what an operator has decided for the time being, above what is declared and what is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from xds_server.ir.decision import Decision
from xds_server.ir.facts import RouteKey
from xds_server.ir.gateway import Route

ALL = "*"
"""The `route` of a switch that is for all of them."""


class Name(StrEnum):
    """The switches, as the admin API has them."""

    READ_ONLY = "read_only"
    FREEZE = "freeze"
    DEGRADATION = "degradation"


class Value(StrEnum):
    """What a switch says: `on` for `read_only` and `freeze`, the others for `degradation`."""

    ON = "on"
    AUTO = "auto"
    OFF = "off"
    FORCED = "forced"


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch that is set: for a route (`namespace/gateway/route`) or all, by whom, why, since when, until when.

    Times are POSIX seconds; `expires` is None for one that stands until somebody takes it back.
    """

    route: str
    value: Value
    reason: str
    by: str
    since: float
    expires: float | None = None

    def means(self, other: Switch) -> bool:
        """Whether both say the same, whoever said it and when."""
        return (self.value, self.reason, self.expires) == (other.value, other.reason, other.expires)


class SwitchKey(NamedTuple):
    """A switch by what it switches, and for which route."""

    name: Name
    route: str

    def __str__(self) -> str:
        """As the audit log has it."""
        return str(self.name) if self.name is Name.READ_ONLY else f"{self.name} {self.route}"


@dataclass(frozen=True, slots=True)
class Switches:
    """All switches that are set."""

    read_only: Switch | None = None
    freeze: tuple[Switch, ...] = ()
    degradation: tuple[Switch, ...] = ()

    def items(self) -> Iterator[tuple[SwitchKey, Switch]]:
        """All of them, by key."""
        if self.read_only is not None:
            yield SwitchKey(Name.READ_ONLY, ALL), self.read_only
        yield from ((SwitchKey(Name.FREEZE, each.route), each) for each in self.freeze)
        yield from ((SwitchKey(Name.DEGRADATION, each.route), each) for each in self.degradation)

    @property
    def frozen(self) -> Switch | None:
        """The switch that freezes everything."""
        return next((each for each in self.freeze if each.route == ALL), None)

    @property
    def modes(self) -> dict[str, Value]:
        """What is said of degradation, by route."""
        return {each.route: each.value for each in self.degradation}

    def standing(self, now: float) -> Switches:
        """Those that have not expired."""

        def stands(switch: Switch) -> bool:
            return switch.expires is None or switch.expires > now

        return replace(
            self,
            read_only=self.read_only if self.read_only is not None and stands(self.read_only) else None,
            freeze=tuple(filter(stands, self.freeze)),
            degradation=tuple(filter(stands, self.degradation)),
        )

    @property
    def next_expiry(self) -> float | None:
        """When the first of them expires."""
        return min((each.expires for _, each in self.items() if each.expires is not None), default=None)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A route as it was, and where it led, when it was frozen. What it watches and what it lacks may have got lost."""

    route: Route
    decision: Decision


FrozenRoutes = Mapping[RouteKey, Frozen]
"""What is kept of the routes that are frozen."""

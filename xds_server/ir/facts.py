"""Facts from outside: what is asked of observers, what they answer, and what is concluded from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from xds_server.ir.backend import BackendKey


class RouteKey(NamedTuple):
    """A route of a DynamicGateway, by name."""

    namespace: str
    gateway: str
    route: str

    def __str__(self) -> str:
        """As the switches of the admin API have it."""
        return f"{self.namespace}/{self.gateway}/{self.route}"


class NoCommit(StrEnum):
    """How a partition counts for which a group has committed nothing: all that is still stored, or not at all."""

    EARLIEST = "earliest"
    LATEST = "latest"


class LagQuery(NamedTuple):
    """The lag of a consumer group in a Kafka cluster; no `topics` stands for all that the group has commits for."""

    cluster: str
    group: str
    topics: tuple[str, ...] = ()

    @property
    def observer(self) -> str:
        """The name of the observer that is asked."""
        return "kafka"

    def __str__(self) -> str:
        """The observation's key in the admin API."""
        return f"{self.cluster}/{self.group}" + (f"/{','.join(self.topics)}" if self.topics else "")


class ValueQuery(NamedTuple):
    """The value of a Prometheus query."""

    query: str

    @property
    def observer(self) -> str:
        """The name of the observer that is asked."""
        return "prometheus"

    def __str__(self) -> str:
        """The observation's key in the admin API."""
        return self.query


Query = LagQuery | ValueQuery


@dataclass(frozen=True, slots=True)
class Rule:
    """When a value is too much: over `threshold` for `enter_samples` samples in a row, until it is at most `recover`.

    `min_dwell` is how long (seconds) a verdict stands at least before the next; it never delays the first time.
    `no_commit` is for Kafka lag only.
    """

    threshold: float
    recover: float
    enter_samples: int = 1
    min_dwell: float = 30.0
    no_commit: NoCommit = NoCommit.EARLIEST


@dataclass(frozen=True, slots=True)
class Watch:
    """What a route wants to be told: of what, and when it is too much."""

    query: Query
    rule: Rule


@dataclass(frozen=True, slots=True)
class Observation:
    """What an observer knows of one query at one time.

    `value` is the lag or the query's value, None where it is unknown, and then `unknown` says why; for Kafka it counts
    partitions without a commit from the beginning of what is stored, and `committed` leaves them out. `sampled` is when
    the value was taken (POSIX seconds; 0.0: never). `state` is a short text for people ("ok", "no offset yet", "no such
    group", "stalled", …), `detail` says in full why the last sample failed or found no value, or what was remarked on it,
    and `breaker` is one of closed, open, half_open. A value whose `state` tells of a failure is an older one that may still be used.
    """

    query: Query
    value: float | None
    committed: float | None = None
    unknown: str | None = None
    sampled: float = 0.0
    state: str = "ok"
    breaker: str = "closed"
    detail: str = ""

    def counted(self, no_commit: NoCommit) -> float | None:
        """The value under a policy for partitions without a commit."""
        return self.committed if no_commit is NoCommit.LATEST and self.committed is not None else self.value


class Verdict(StrEnum):
    """What is concluded of a route's value. A value that is not known changes no verdict."""

    NORMAL = "normal"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class FactChanges:
    """Facts that derivation is told from outside and that are not as before, by key.

    `fleets` has by group among how many Envoys the `maxQps` of its routes is shared; `drained` are backends whose time with
    their last endpoints is over. `edited` tells of verdicts where the gateway stands that was changed, if that is their cause.
    """

    verdicts: Mapping[RouteKey, Verdict] = field(default_factory=dict)
    fleets: Mapping[str, int] = field(default_factory=dict)
    drained: frozenset[BackendKey] = frozenset()
    edited: Mapping[RouteKey, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.verdicts or self.fleets or self.drained)

    def __or__(self, later: FactChanges) -> FactChanges:
        """These and then later ones: of two under one key the later counts."""
        return FactChanges(
            {**self.verdicts, **later.verdicts},
            {**self.fleets, **later.fleets},
            self.drained | later.drained,
            {**self.edited, **later.edited},
        )


NO_FACTS = FactChanges()


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A verdict as it is remembered across restarts.

    `since` is when it last changed (POSIX seconds; 0.0: never), `was_over` tells whether it ever was over.
    """

    verdict: Verdict
    since: float
    was_over: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of the value that a route watches, as the status tells it.

    `value` counts as the route's rule has it; None where it is unknown, and then `unknown` says why. `last` is the last
    value that was known (None: none ever was), `sampled` when it was taken (POSIX seconds; 0.0: never). `state` and
    `breaker` are the observer's. `held` tells that the verdict does not count: the breaker on degradation holds it.
    """

    watch: Watch
    value: float | None
    unknown: str | None
    last: float | None
    sampled: float
    state: str
    verdict: Verdict
    held: bool = False

    @property
    def watches(self) -> str:
        """The observer and the key of what is watched: `kafka:default/orders`."""
        return f"{self.watch.query.observer}:{self.watch.query}"

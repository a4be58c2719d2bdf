"""The book of gateways: the newest report of each, since when its conditions stand, and what of it changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from xds_server.ir.decision import Choice, Decision, GatewayReport, RouteReport
from xds_server.ir.facts import Query, Reading, RouteKey
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.gateway_status import GatewayStatus, Status
from xds_server.ir.origin import Origin
from xds_server.snapshot.groups import Group, Groups
from xds_server.status.delivery import KIND, Delivery, delivery_of
from xds_server.status.gateways import Readings, status_of
from xds_server.status.replicas import Replicas
from xds_server.status.route_memory import RouteMemory
from xds_server.status.serving import is_served
from xds_server.status.tracker import Tracker
from xds_server.status.transitions import Transition, Transitions

_LEFT_KEPT = 10_000
"""Gateways that are gone of which it is remembered in which group they were."""


@dataclass(frozen=True, slots=True)
class ShownRoute:
    """A route as it is now; `since` (POSIX seconds) is when its decision came, `is_served` whether it is in force."""

    report: RouteReport
    since: float
    reading: Reading | None
    is_served: bool


@dataclass(frozen=True, slots=True)
class ShownGateway:
    """A gateway as it is now, with how far its group has come.

    `moved` tells by type when (POSIX seconds) its conditions last changed their status.
    """

    report: GatewayReport
    status: GatewayStatus
    moved: Mapping[str, float]
    routes: tuple[ShownRoute, ...]
    delivery: Delivery


class GatewayBook:
    """Takes reports in and tells of transitions; what is asked of it is made when it is asked for."""

    def __init__(
        self,
        groups: Groups,
        tracker: Tracker,
        memory: RouteMemory,
        readings: Readings,
        transitions: Transitions,
        *,
        replicas: Replicas,
        clock: Callable[[], float],
    ) -> None:
        """Read groups and nodes, here and on other replicas, from these; take times from `clock` (POSIX seconds)."""
        self._groups = groups
        self._tracker = tracker
        self._memory = memory
        self._readings = readings
        self._transitions = transitions
        self._replicas = replicas
        self._clock = clock
        self._reports: dict[GatewayKey, GatewayReport] = {}
        self._by_group: dict[str, set[GatewayKey]] = {}
        self._conditions: dict[GatewayKey, dict[str, tuple[Status, float]]] = {}
        self._last: dict[GatewayKey, GatewayStatus] = {}
        self._acked: dict[str, str] = {}
        self._served: dict[str, object] = {}
        self._dirty: set[GatewayKey] = set()
        self._moved: set[str] = set()
        self._pending: dict[str, Delivery] = {}
        """The groups in which somebody has not accepted everything, as they were looked at last."""
        self._left: dict[GatewayKey, str] = {}
        self._followers: list[Callable[[ShownGateway], None]] = []
        self._began = clock()
        self._is_whole = False
        tracker.follow_moves(self._moved.add)
        replicas.follow(self._told_elsewhere)

    def take(self, changes: Mapping[GatewayKey, GatewayReport | None]) -> Iterator[None]:
        """Take in what derivation reports anew, once it is published; None for a gateway that is gone. A step for each.

        Until `begin` is called no decision is remembered or told: of half a world others come than of all of it.
        """
        for key, report in changes.items():
            self._take(key, report)
            yield
        self._by_group = {group: keys for group, keys in self._by_group.items() if keys}
        self._transitions.flush()

    def _take(self, key: GatewayKey, report: GatewayReport | None) -> None:
        before = self._reports.get(key)
        self._forget_routes(before, report)
        if before is not None:
            self._by_group[before.group].discard(key)
        if report is None:
            if before is not None:
                self._leave(key, before.group)
            for kept in (self._reports, self._conditions, self._last):
                kept.pop(key, None)
            return
        self._reports[key] = report
        self._by_group.setdefault(report.group, set()).add(key)
        self._dirty.add(key)
        if self._is_whole:
            self._decide(report)

    def begin(self) -> Iterator[None]:
        """Remember and tell decisions from now on: all sources have said what there is. A step for each gateway."""
        self._is_whole = True
        for key in tuple(self._reports):
            report = self._reports.get(key)  # the newest: others come and go between two steps
            if report is not None:
                self._decide(report)
            yield
        self._transitions.flush()

    def noted(self, routes: Iterable[RouteKey]) -> None:
        """Note that what these routes watch became known, or unknown."""
        self._dirty.update(GatewayKey(route.namespace, route.gateway) for route in routes)

    def close(self) -> None:
        """Tell the transitions that still wait."""
        self._transitions.close()

    def follow(self, told: Callable[[ShownGateway], None]) -> None:
        """Have a function told of each gateway that is looked at; it must be quick."""
        self._followers.append(told)

    def keys(self) -> list[GatewayKey]:
        """All gateways, by namespace and name."""
        return sorted(self._reports)

    def knows(self, route: str) -> bool:
        """Whether a route (`namespace/gateway/route`) is served."""
        namespace, _, rest = route.partition("/")
        gateway, _, name = rest.partition("/")
        report = self._reports.get(GatewayKey(namespace, gateway))
        return report is not None and any(each.key.route == name for each in report.routes)

    def origin(self, key: GatewayKey) -> Origin | None:
        """Where a gateway is declared; None for one that is not there."""
        report = self._reports.get(key)
        return None if report is None else report.origin

    def is_deprogrammed(self, key: GatewayKey) -> bool:
        """Whether nothing is served of a gateway any more, and every Envoy, here and at other replicas, has let go of it.

        False while that can't be told of a replica. Of a gateway that this process never knew all groups are looked at.
        """
        if key in self._reports:
            return False
        known = self._left.get(key)
        groups = [each for each in self._groups if known in (None, each.name)]
        return all(self._is_rid(group, key) for group in groups)

    def _is_rid(self, group: Group, key: GatewayKey) -> bool:
        current, delivery = group.current, self._delivery(group.name)
        is_served = current is not None and (KIND, *key) in current.makers
        nodes = delivery.nodes
        return not is_served and not delivery.unheard and nodes.acked == nodes.connected

    def watched(self) -> Counter[Query]:
        """What routes watch, and how many watch it."""
        return Counter(
            route.watch.query for report in self._reports.values() for route in report.routes if route.watch is not None
        )

    def counted(self) -> Iterator[tuple[GatewayReport, GatewayStatus]]:
        """The newest report of each gateway with its status when it was last looked at; for metrics."""
        for key, status in self._last.items():
            yield self._reports[key], status

    def get(self, key: GatewayKey) -> ShownGateway | None:
        """A gateway as it is now."""
        return next(self.shown([key]), None)

    def shown(self, keys: Iterable[GatewayKey]) -> Iterator[ShownGateway]:
        """Gateways as they are now, one by one; how far a group has come is looked up once."""
        deliveries: dict[str, Delivery] = {}
        now = self._clock()
        for key in keys:
            report = self._reports.get(key)
            if report is None:
                continue
            if report.group not in deliveries:
                deliveries[report.group] = self._delivery(report.group)
            readings = {each.key: self._readings(each.key) for each in report.routes}
            status = self._assess(report, readings.get, deliveries[report.group])
            moved = {kind: at for kind, (_, at) in self._conditions[key].items()}
            routes = tuple(
                ShownRoute(
                    each,
                    min(self._memory.of(each.key).since or self._began, now),
                    readings[each.key],
                    is_served(each, deliveries[report.group]),
                )
                for each in report.routes
            )
            yield ShownGateway(report, status, moved, routes, deliveries[report.group])

    def look(self) -> Iterator[ShownGateway]:
        """The gateways about which something may have changed since the last look.

        To be asked for often, so that the times of conditions are right though nobody asks for the gateways.
        """
        moved = self._moved.copy()
        self._moved.clear()
        # Not every way out of this is told: a node that subscribes to more is not in sync for a moment.
        moved.update(name for name, before in tuple(self._pending.items()) if self._delivery(name) != before)
        for name, keys in self._by_group.items():
            group = self._groups.get(name)
            current = group.current if group is not None else None
            if name in moved or self._served.get(name) is not current:
                self._served[name] = current
                self._dirty |= keys
        dirty, self._dirty = self._dirty, set()
        for shown in self.shown(dirty):
            for told in self._followers:
                told(shown)
            yield shown

    def _assess(self, report: GatewayReport, readings: Readings, delivery: Delivery) -> GatewayStatus:
        now = self._clock()
        status = status_of(report, readings, delivery)
        known = self._conditions.setdefault(report.key, {})
        for each in status.conditions:
            if each.type not in known or known[each.type][0] is not each.status:
                known[each.type] = (each.status, now)
        self._last[report.key] = status
        return status

    def _delivery(self, group: str) -> Delivery:
        delivery = delivery_of(self._groups.get(group), self._tracker, self._replicas, self._acked.get(group, ""))
        self._acked[group] = delivery.acked
        if delivery.nodes.acked < delivery.nodes.connected:
            self._pending[group] = delivery
        else:
            self._pending.pop(group, None)
        return delivery

    def _told_elsewhere(self, groups: Iterable[str] | None) -> None:
        """Look again at these groups (None: all), of which other replicas tell something new."""
        self._moved.update(self._by_group if groups is None else groups)

    def _leave(self, key: GatewayKey, group: str) -> None:
        self._left.pop(key, None)
        self._left[key] = group
        if len(self._left) > _LEFT_KEPT:
            del self._left[next(iter(self._left))]

    def _decide(self, report: GatewayReport) -> None:
        found = self._groups.get(report.group)
        version = found.current.version if found is not None and found.current is not None else ""
        for route in report.routes:
            before, after = self._memory.decide(route.key, route.decision), route.decision
            if _choice(before) is not after.choice:
                reading = self._readings(route.key)
                self._transitions.tell(Transition(route.key, report.group, before, after, reading, version))

    def _forget_routes(self, before: GatewayReport | None, after: GatewayReport | None) -> None:
        stay = {route.key for route in after.routes} if after is not None else set()
        for route in before.routes if before is not None else ():
            if route.key not in stay:
                self._memory.forget(route.key)


def _choice(decision: Decision | None) -> Choice:
    """Where a route leads of which nothing was decided yet: to begin at its primary backend is no transition."""
    return decision.choice if decision is not None else Choice.PRIMARY

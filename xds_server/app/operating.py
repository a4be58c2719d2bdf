"""What the operator of a Kubernetes cluster is told of gateways, and what it tells: adapters to its ports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog

from xds_server.app.cluster import connection_of, entry_of
from xds_server.app.telling import Telling
from xds_server.app.working import observe_controllers, observe_leadership
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.gateway_status import Envoys, GatewayState, RouteState
from xds_server.ir.writes import Write
from xds_server.settings.root import Settings
from xds_server.snapshot.pipeline import Pipeline
from xds_server.status.audit import Audit
from xds_server.status.audit_entry import Action
from xds_server.status.gateway_book import GatewayBook, ShownGateway, ShownRoute

if TYPE_CHECKING:
    from k8s_source.cluster import Cluster
    from k8s_source.operator import Operator

_MOST = 1000
"""Gateways that are remembered before it is looked which of them are gone."""

_log = structlog.get_logger()


class BookStates:
    """Gateways as the book has them, for those who write the status of objects. All calls belong on the event loop."""

    def __init__(self, book: GatewayBook, is_synced: Callable[[], bool]) -> None:
        """`is_synced` tells whether all sources have said what there is: before, nobody knows what is gone."""
        self._book = book
        self._is_synced = is_synced
        self._followers: list[Callable[[GatewayKey, bool], None]] = []
        self._told: dict[GatewayKey, object] = {}
        self._most = _MOST
        book.follow(self._looked)

    def get(self, key: GatewayKey) -> GatewayState | None:
        """A gateway as it is now; None for one that derivation does not know, or of which nothing is whole yet.

        Who is told None hears of it once it is there, also if it is as it was when it went.
        """
        shown = self._book.get(key) if self._is_synced() else None
        if shown is None:
            self._told.pop(key, None)
            return None
        return _state(shown)

    def is_deprogrammed(self, key: GatewayKey) -> bool:
        """Whether no Envoy, here or at another replica, holds anything of a gateway that is gone."""
        return self._is_synced() and self._book.is_deprogrammed(key)

    def follow(self, told: Callable[[GatewayKey, bool], None]) -> None:
        """Have a function told of each gateway of which something has changed, and whether that is more than numbers.

        One change of a group, a new version of it say, has all of its gateways looked at.
        """
        self._followers.append(told)

    def _looked(self, shown: ShownGateway) -> None:
        key, now = shown.report.key, _news(shown)
        is_news = self._told.get(key) != now
        self._told[key] = now
        if len(self._told) > self._most:
            self._told = {each: news for each, news in self._told.items() if self._book.origin(each) is not None}
            self._most = max(_MOST, 2 * len(self._told))
        for told in self._followers:
            told(key, is_news)


class AuditNotes:
    """Has what is written in the audit log, and logged."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def wrote(self, write: Write) -> None:
        """The API server has taken this."""
        self._audit.record(
            Action.WRITE,
            f"{write.what} {write.target}",
            actor=write.actor,
            reason=write.reason,
            before=write.before,
            after=write.after,
        )
        _log.info("cluster_written", what=write.what, target=write.target, reason=write.reason)


def _news(shown: ShownGateway) -> object:
    """What of a gateway is more than numbers."""
    status = shown.status
    conditions = [each[:3] for each in status.conditions]
    said = status.observed_generation, status.phase, status.last_applied_hash, status.last_error, conditions
    return said, shown.delivery.nodes, shown.report.routes


def _state(shown: ShownGateway) -> GatewayState:
    report, nodes = shown.report, shown.delivery.nodes
    return GatewayState(
        report.key,
        report.origin,
        shown.status,
        shown.moved,
        tuple(_route(each) for each in shown.routes),
        Envoys(nodes.connected, nodes.acked, len(shown.delivery.unheard)),
        report.policy.full_resync_interval,
    )


def _route(shown: ShownRoute) -> RouteState:
    decision = shown.report.decision
    backend = str(decision.backend) if decision.backend is not None else ""
    return RouteState(shown.report.key.route, decision.choice.value, backend, decision.reason, shown.since)


def make_operator(
    settings: Settings, cluster: Cluster | None, book: GatewayBook, pipeline: Pipeline, telling: Telling
) -> Operator | None:
    """What writes to the cluster, for as long as this process is the one that does; None without a cluster."""
    entry = entry_of(settings)
    if cluster is None or entry is None:
        return None
    from k8s_source.client.connect import own_namespace  # noqa: PLC0415 - see `app.cluster`
    from k8s_source.lease.elector import Timings  # noqa: PLC0415
    from k8s_source.operator import Operator, Options  # noqa: PLC0415
    from k8s_source.reconcile import gateways  # noqa: PLC0415

    section = settings.kubernetes
    election = section.leader_election
    lease = election.namespace or own_namespace(connection_of(entry)), election.name
    timings = Timings(election.lease_duration, election.renew_deadline, election.retry_period)
    options = Options(
        lease if election.enabled else None,
        timings,
        section.max_concurrent_reconciles,
        gateways=gateways.Options(numbers=section.status.lag_interval, deprogram=section.deprogram_timeout),
    )
    operator = Operator(
        cluster.api,
        cluster.gateways,
        options,
        BookStates(book, pipeline.synced.is_set),
        source=cluster.source.name,
        notes=AuditNotes(telling.audit),
        meter=telling.metrics,
        events=telling.metrics,
    )
    observe_controllers(telling.metrics, [operator.controller])
    observe_leadership(telling.metrics, "/".join(lease), operator.leadership.is_leader)
    return operator

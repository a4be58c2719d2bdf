"""Makes and joins all parts; nothing runs yet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from k8s_source.kinds.decode import decode_manifest
from xds_server.admin import AdminServer
from xds_server.admin.rights import rights_of
from xds_server.app.asked import Joined, admin_deps
from xds_server.app.cluster import make_cluster
from xds_server.app.flow import Flow, make_flow
from xds_server.app.governing import connect, governing
from xds_server.app.model import restored_fleets
from xds_server.app.observing import make_observers, observe_observers
from xds_server.app.operating import make_operator
from xds_server.app.replicating import Replicating, make_replicating, own_token
from xds_server.app.reviewing import envoys_tokens, replicas_tokens
from xds_server.app.telling import Telling, make_telling
from xds_server.app.watching import Watching
from xds_server.credentials.tls import watch_tls
from xds_server.credentials.watched import Credentials
from xds_server.ir.facts import FactChanges
from xds_server.settings.root import Settings
from xds_server.sources.push.rpc import PushService
from xds_server.status.fleets import Fleets
from xds_server.status.gateway_book import GatewayBook
from xds_server.status.gateways import Readings
from xds_server.status.gauges import (
    observe_fleet,
    observe_gateways,
    observe_replicas,
    observe_store,
    observe_switches,
)
from xds_server.status.state import State
from xds_server.status.switchboard import Switchboard
from xds_server.status.tracker import Tracker
from xds_server.status.transitions import Transitions
from xds_server.stream.admission import grouping_of
from xds_server.stream.auth import Authenticator
from xds_server.stream.context import Limits, StreamContext
from xds_server.stream.sequencer import Waits
from xds_server.stream.server import XdsServer
from xds_server.telemetry import names
from xds_server.telemetry.metrics import Metrics
from xds_server.translate.secrecy import holds_secrets

if TYPE_CHECKING:
    from k8s_source.cluster import Cluster
    from k8s_source.operator import Operator


@dataclass(slots=True)
class App:
    """All parts of one running Tidegate."""

    telling: Telling
    flow: Flow
    board: Switchboard
    watching: Watching
    fleets: Fleets
    replicating: Replicating
    xds: XdsServer
    admin: AdminServer
    credentials: Credentials
    cluster: Cluster | None
    operator: Operator | None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)


def build(settings: Settings) -> App:
    """Make and join all parts.

    Raises:
        CredentialError: a certificate or a token can't be used.
        OSError: the state directory can't be used.
    """
    credentials = Credentials()
    state = State(settings, holds_secrets, time.time, decode_manifest)
    telling = make_telling(state)
    cluster = make_cluster(settings, telling.metrics)
    flow = make_flow(settings, state, telling, cluster)
    tracker = Tracker(flow.groups, telling.bus, time.time)
    stopping = asyncio.Event()
    board = governing(settings, state, flow.pipeline, telling.audit.emit, telling.metrics)
    shown = own_token(settings.replicas, credentials)
    replicating = make_replicating(
        settings, flow.groups, tracker, token=shown, credentials=credentials, cluster=cluster
    )
    watching = _watching(settings, telling, flow, tracker, replicating, board=board)
    fleets = _fleets(state, flow, tracker, replicating)
    _observe(telling.metrics, flow, tracker, credentials, watching)
    _observe_more(telling.metrics, flow, board, replicating, fleets)
    state.tell_damage(telling.audit)
    state.tell_settings(telling.audit)
    board.begin(flow.pipeline.begin)
    api = cluster.api if cluster is not None else None
    rights = rights_of(settings.admin.tokens, credentials, replicas_tokens(settings, shown, api))
    xds = XdsServer(
        _context(settings, flow, telling, tracker),
        Authenticator(settings.xds.auth, credentials, envoys_tokens(settings, api)),
        watch_tls(credentials, "xds.tls", settings.xds.tls),
        telling.audit,
        [PushService(flow.push, rights.operator)] if flow.push is not None else [],
    )
    joined = Joined(flow, telling, tracker, watching, replicating, board, cluster, stopping)
    tls = watch_tls(credentials, "admin.tls", settings.admin.tls)
    admin = AdminServer(admin_deps(settings, joined), rights, tls, settings.admin.hosts)
    operator = make_operator(settings, cluster, watching.book, flow.pipeline, telling)
    if operator is not None:
        replicating.bulletin.lead(operator.leadership.is_leader)
    return App(
        telling, flow, board, watching, fleets, replicating, xds, admin, credentials, cluster, operator, stopping
    )


def _context(settings: Settings, flow: Flow, telling: Telling, tracker: Tracker) -> StreamContext:
    xds = settings.xds
    limits = Limits(xds.max_streams, xds.max_request_bytes, xds.max_names, xds.max_connection_age, xds.max_request_rate)
    return StreamContext(
        flow.groups,
        tracker,
        telling.metrics,
        Waits(xds.order_timeout, xds.removal_timeout),
        limits,
        grouping=grouping_of(settings.groups),
        traces=telling.traces if telling.traces.is_on else None,
    )


def _watching(
    settings: Settings, telling: Telling, flow: Flow, tracker: Tracker, replicating: Replicating, *, board: Switchboard
) -> Watching:
    observers = make_observers(settings, telling.metrics)
    observe_observers(telling.metrics, observers, time.time)
    transitions = Transitions(telling.audit.emit, telling.metrics, asyncio.get_running_loop().call_later)

    def make_book(readings: Readings) -> GatewayBook:
        parts = (flow.groups, tracker, flow.state.routes, readings, transitions)
        return GatewayBook(*parts, replicas=replicating.replicas, clock=time.time)

    watching = Watching(
        flow.pipeline, observers, flow.state.routes, make_book, brake=board.brake, touched=replicating.touched
    )
    connect(board, watching, flow.pipeline)
    replicating.bulletin.ask_for_opinions(watching.opinion)
    replicating.replicas.guide(watching.adopt, lambda route: watching.judge.opinion(route) is not None)
    return watching


def _fleets(state: State, flow: Flow, tracker: Tracker, replicating: Replicating) -> Fleets:
    """Whose sizes go on from those that were served last, as those of the model do."""
    restored = restored_fleets(snapshots[-1] for snapshots in state.restored.values())

    def tell(sizes: Mapping[str, int]) -> None:
        flow.pipeline.observe(FactChanges(fleets=sizes))

    later = asyncio.get_running_loop().call_later
    fleets = Fleets(tracker, replicating.replicas, clock=time.monotonic, later=later, tell=tell, restored=restored)
    flow.pipeline.follow(fleets.take)
    return fleets


def _observe(metrics: Metrics, flow: Flow, tracker: Tracker, credentials: Credentials, watching: Watching) -> None:
    observe_fleet(metrics, flow.groups, tracker, flow.pipeline.sources)
    if flow.state.store is not None:
        observe_store(metrics, flow.state.store)
    metrics.observe(names.CREDENTIAL_UP, credentials.up)
    observe_gateways(metrics, watching.book)


def _observe_more(metrics: Metrics, flow: Flow, board: Switchboard, replicating: Replicating, fleets: Fleets) -> None:
    observe_switches(metrics, board, flow.groups)
    observe_replicas(metrics, replicating.replicas)
    metrics.observe(names.MAX_QPS_SHARE, lambda: [((group,), part) for group, part in fleets.shares().items()])

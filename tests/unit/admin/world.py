"""A small world to ask about: two versions of a group, three nodes (one refuses), a source with an error, a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.unit.admin.documents import KEY, ORIGIN, cluster, endpoints, route, secret
from xds_server.admin import AdminDeps
from xds_server.derive.mass_breaker import BreakerState, Limits
from xds_server.ir.backend import BackendKey
from xds_server.ir.decision import Choice, Decision, GatewayReport, RouteReport
from xds_server.ir.declared import NativeDocument
from xds_server.ir.facts import LagQuery, Observation, Reading, RouteKey, Rule, Verdict, Watch
from xds_server.ir.gateway import GatewayKey, Policy
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.snapshot.assemble import Assembler
from xds_server.snapshot.feed import SourceReport
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.history.decisions import Kept
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.snapshot.snapshot import Change, LeftOut, Snapshot
from xds_server.snapshot.typeset import Typeset, empty
from xds_server.status.audit import Audit
from xds_server.status.brake import Brake
from xds_server.status.bulletin import Bulletin
from xds_server.status.config import TypeView
from xds_server.status.events import EventBus
from xds_server.status.gateway_book import GatewayBook
from xds_server.status.node import Accepted, NodeReport, Refused, Sent, TypeReport
from xds_server.status.replicas import Replicas
from xds_server.status.route_memory import RouteMemory
from xds_server.status.switchboard import Switchboard
from xds_server.status.tracker import Tracker
from xds_server.status.transitions import Transitions
from xds_server.telemetry.metrics import Metrics
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.translate.render import to_json
from xds_server.wire.csds import Client
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, ROUTE, SECRET

NOW = 1_700_000_000.25
NOW_TEXT = "2023-11-14T22:13:20.250Z"
REPLICA = "pod-0"
GATEWAY = GatewayKey("shop", "edge")
GATEWAY_ORIGIN = Origin(
    "files", "edge.yaml", 1, 1, "gateway.tidegate.dev/v1alpha1", "DynamicGateway", *GATEWAY, generation=3
)
RULE = Rule(1000, 800)
KNOWN = Observation(LagQuery("default", "orders"), 1500, sampled=NOW - 2)
UNKNOWN = Observation(
    LagQuery("default", "mail", ("in",)),
    None,
    unknown="no broker answers",
    sampled=NOW - 60,
    state="timeout",
    breaker="open",
)


def resource(body: Mapping[str, object], origin: Origin = ORIGIN) -> Resource:
    """The resource that a document makes."""
    return decode(NativeDocument("default", body, origin))


def typeset(*resources: Resource) -> Typeset:
    """A typeset of resources of one type."""
    return Typeset(resources[0].type_url, {each.name: each for each in resources})


@dataclass(eq=False)
class FakeNode:
    """A stream as the tracker sees it."""

    id: str
    group: str = "default"
    protocol: str = "sotw"
    is_envoy: bool = True
    accepts: bool = True
    refuses: bool = False
    types: Mapping[str, TypeReport] = field(default_factory=dict)
    views: Sequence[TypeView] = ()

    def in_sync(self) -> bool:
        return self.accepts

    def refusing(self) -> bool:
        return self.refuses

    def client(self) -> Client:
        return Client(self.id, "", "")

    def config(self) -> Sequence[TypeView]:
        return self.views

    def report(self) -> NodeReport:
        return NodeReport(
            self.id, self.group, "edge", "127.0.0.1:5000", "sotw", "1.40.0", connected=True, since=NOW, types=self.types
        )


CALM = TypeReport(
    wildcard=True,
    names=0,
    sent=Sent("v2", "7", NOW),
    acked=Accepted("v2", NOW),
    nacked=None,
    pending=False,
    waits_for=None,
    waits_since=0.0,
    timeouts=0,
)
REFUSING = replace(
    CALM,
    wildcard=False,
    names=2,
    acked=None,
    nacked=Refused("v2", "7", NOW, 3, "Error adding/updating cluster(s) one: no such thing", (ORIGIN,)),
    waits_for="eds",
    waits_since=NOW,
    timeouts=1,
)


def first_version() -> Snapshot:
    """A cluster with its endpoints, a route, and a secret."""
    types = {
        CLUSTER: typeset(resource(cluster("one")), resource(cluster("gone"))),
        ENDPOINT: typeset(resource(endpoints("one", 8080))),
        ROUTE: typeset(resource(route("main", "one"))),
        SECRET: typeset(resource(secret("cert", KEY))),
    }
    return Snapshot("default", 1, NOW, types, (), Change("files", "world.yaml"))


def second_version(before: Snapshot) -> Snapshot:
    """The same, after a cluster came, one went, a timeout changed, and the key was renewed."""
    changed = resource({**cluster("one"), "connect_timeout": "2s", "lb_policy": "RANDOM"})
    types = {
        **before.types,
        CLUSTER: before.types[CLUSTER].evolve({"one": changed, "gone": None, "new": resource(cluster("new"))}),
        SECRET: before.types[SECRET].evolve({"cert": resource(secret("cert", KEY.replace("planted", "renewed")))}),
    }
    left_out = (LeftOut(CLUSTER, "ghost", "NoAssignment", "refers to load assignment 'ghost'", (ORIGIN,)),)
    return Snapshot("default", 2, NOW, types, left_out, Change("files", "world.yaml"))


class World:
    """Everything that the admin API reads."""

    def __init__(self) -> None:
        self.groups = Groups(lambda: NOW)
        self.bus = EventBus(lambda: NOW)
        self.tracker = Tracker(self.groups, self.bus, lambda: NOW)
        self.bulletin = Bulletin(self.groups, self.tracker, REPLICA, lambda: NOW)
        self.replicas = Replicas(self.bulletin.instance)
        self.metrics = Metrics("1.2.3")
        self.observations = [KNOWN, UNKNOWN]
        self.readings = {
            RouteKey(*GATEWAY, "orders"): Reading(
                Watch(KNOWN.query, RULE), 1500, None, 1500, KNOWN.sampled, "ok", Verdict.OVER
            ),
            RouteKey(*GATEWAY, "mail"): Reading(
                Watch(UNKNOWN.query, RULE), None, UNKNOWN.unknown, 7, UNKNOWN.sampled, "timeout", Verdict.NORMAL
            ),
        }
        self.audit = Audit(self.bus, lambda: NOW)
        self.pipeline = Pipeline(
            Assembler(decode, prune_routes), self.groups, Coalesce(), self.metrics, self.audit.emit
        )
        self.switches = self._switchboard()
        # It was decided before, so that nothing is told of it now.
        decided = {each.key: Kept(None, each.decision, NOW) for each in self.gateway().routes}
        self.memory = RouteMemory(lambda: NOW, restored=decided)
        transitions = Transitions(self.audit.emit, self.metrics, lambda _seconds, _call: None)
        self.book = GatewayBook(
            self.groups,
            self.tracker,
            self.memory,
            self.readings.get,
            transitions,
            replicas=self.replicas,
            clock=lambda: NOW,
        )
        list(self.book.begin())
        list(self.book.take({GATEWAY: self.gateway()}))
        self.stored = 0
        self.not_ready: str | None = None
        self.reports: Sequence[SourceReport] = (self.source(),)
        self.first = first_version()
        self.second = second_version(self.first)
        self.pipeline.restore({"default": [self.first, self.second]})
        self.group = self.groups.obtain("default")
        self.groups.obtain("silent").publish(Snapshot("silent", 1, NOW, {CLUSTER: empty(CLUSTER)}))
        self.nodes = [
            FakeNode("n1", types={"cds": CALM}),
            FakeNode("n2", accepts=False, refuses=True, types={"cds": REFUSING}),
            FakeNode("n2", accepts=False, types={}),
        ]
        for node in self.nodes:
            self.tracker.joined(node)

    def _switchboard(self) -> Switchboard:
        brake = Brake(Limits(), lambda: NOW, self.audit.emit, self.metrics, BreakerState())
        return Switchboard(lambda: NOW, self.audit.emit, self.pipeline.govern, brake)

    @staticmethod
    def gateway() -> GatewayReport:
        """A gateway with a degraded route, one whose lag is unknown, one that watches nothing, and a missing service."""
        orders, lite = BackendKey("shop", "orders", 80), BackendKey("shop", "orders-lite", 80)
        routes = (
            RouteReport(
                RouteKey(*GATEWAY, "orders"),
                Decision(Choice.DEGRADED, lite, "over-threshold"),
                Watch(KNOWN.query, RULE),
                max_qps=200.0,
                share=0.25,
            ),
            RouteReport(
                RouteKey(*GATEWAY, "mail"), Decision(Choice.PRIMARY, orders, "healthy"), Watch(UNKNOWN.query, RULE)
            ),
            RouteReport(RouteKey(*GATEWAY, "plain"), Decision(Choice.REJECTED, None, "no-healthy-backend"), None),
        )
        missing = Problem(
            GATEWAY_ORIGIN, "ServiceNotFound", "there is no Service shop/gone", "spec.routes[2].backendService"
        )
        return GatewayReport(
            GATEWAY, "default", 3, GATEWAY_ORIGIN, Policy(), routes, unresolved=(missing,), applied="f00d"
        )

    @staticmethod
    def source() -> SourceReport:
        problem = Problem(replace(ORIGIN, line=7), "UnknownField", "Cluster has no field 'nmae'", "nmae")
        return SourceReport(
            "files", "files", synced=True, up=True, last_sync=NOW, objects={"Cluster": 2}, problems=(problem,)
        )

    def deps(self) -> AdminDeps:
        return AdminDeps(
            self.groups,
            self.tracker,
            self.bus,
            lambda: self.reports,
            lambda: self.not_ready,
            to_json,
            self.metrics.render,
            self.pipeline,
            self.audit,
            self.store,
            self.book,
            lambda: self.observations,
            self.switches,
            self.bulletin,
            self.replicas,
            clock=lambda: NOW,
        )

    async def store(self) -> None:
        """What waits for the disk."""
        self.stored += 1

"""A small world to ask about: two versions of a group, three nodes (one refuses), a source with an error, a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.unit.admin.documents import KEY, ORIGIN, cluster, endpoints, route, secret
from xds_server.admin import AdminDeps
from xds_server.ir.declared import NativeDocument
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.snapshot.assemble import Assembler
from xds_server.snapshot.feed import SourceReport
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.snapshot.snapshot import Change, LeftOut, Snapshot
from xds_server.snapshot.typeset import Typeset, empty
from xds_server.status.audit import Audit
from xds_server.status.config import TypeView
from xds_server.status.events import EventBus
from xds_server.status.node import Accepted, NodeReport, Refused, Sent, TypeReport
from xds_server.status.tracker import Tracker
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
        self.metrics = Metrics("1.2.3")
        self.audit = Audit(self.bus, lambda: NOW)
        self.pipeline = Pipeline(
            Assembler(decode, prune_routes), self.groups, Coalesce(), self.metrics, self.audit.emit
        )
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
            replica=REPLICA,
        )

    async def store(self) -> None:
        """What waits for the disk."""
        self.stored += 1

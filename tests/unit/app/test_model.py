"""Derivation as a whole, with real kinds: step by step equals from scratch, and the memory decides nothing it was told.

Each step also takes what it says of changes at its word: their sum is what there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings, strategies as st

from tests.unit.k8s_source.manifests import Body, decoded, endpoint_slice, gateway, pair, service, tls_secret
from xds_server.app.model import GatewayModel, restored_fleets
from xds_server.ir.backend import BackendKey, Locality
from xds_server.ir.facts import NO_FACTS, FactChanges, RouteKey, Verdict
from xds_server.ir.objects import ObjectKey, Standing
from xds_server.snapshot.compile import Address
from xds_server.snapshot.derivation import Round
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.translate.gateway import read_back
from xds_server.wire.resource import Resource
from xds_server.wire.types import ENDPOINT, ROUTE as ROUTES_TYPE

SERVICES = ("cart", "pay", "lite")
ROUTES = tuple(RouteKey("default", gateway, route) for gateway in ("shop", "side") for route in ("a", "b", "c"))

routes = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from("abc"),
            "path": st.sampled_from(["/a", "/b", "/a/b"]),
            "backendService": st.sampled_from(SERVICES),
        },
        optional={
            "hosts": st.lists(st.sampled_from(["a.example", "b.example"]), min_size=1, max_size=2, unique=True),
            "retries": st.integers(0, 2),
            "maxQps": st.sampled_from([5, 100]),
            "lag": st.just(None),
        },
    ),
    min_size=1,
    max_size=4,
)
listeners = st.sampled_from(
    [
        None,
        [{"name": "http", "port": 8080}],
        [{"name": "http", "port": 8080}, {"name": "more", "port": 9000}],
        [{"name": "tls", "port": 8443, "protocol": "HTTPS", "tls": {"secretName": "shop-tls"}}],
    ]
)
gateways = st.tuples(
    st.just("gateway"),
    st.sampled_from(["shop", "side"]),
    st.one_of(st.none(), st.tuples(routes, listeners, st.booleans())),
)
services = st.tuples(st.just("service"), st.sampled_from(SERVICES), st.sampled_from([None, 80, 81]))
slices = st.tuples(
    st.just("slice"),
    st.tuples(st.sampled_from(SERVICES), st.integers(1, 2)),
    st.one_of(st.none(), st.lists(st.integers(1, 4), max_size=3, unique=True)),
)
secrets = st.tuples(st.just("secret"), st.just("shop-tls"), st.sampled_from([None, "first", "second"]))
verdicts = st.tuples(st.just("verdict"), st.sampled_from(ROUTES), st.sampled_from(Verdict))
fleets = st.tuples(st.just("fleet"), st.sampled_from(["default", "edge"]), st.integers(1, 3))
drained = st.tuples(st.just("drained"), st.sampled_from(SERVICES), st.just(80))
Step = tuple[str, Any, Any]
kinds = st.one_of(gateways, services, slices, secrets, verdicts, fleets, drained)
steps = st.lists(st.lists(kinds, min_size=1, max_size=6), max_size=8)


def route_of(values: Mapping[str, Any]) -> Body:
    made = {key: value for key, value in values.items() if key != "lag"}
    other = "cart" if made["backendService"] == "lite" else "lite"
    lag = {"degradeService": other, "kafkaConsumerGroup": "g", "kafkaLagThreshold": 10} if "lag" in values else {}
    return {**made, **lag}


def body_of(kind: str, name: Any, value: Any) -> Body:
    """The manifest of a step."""
    if kind == "gateway":
        found, listening, is_open = value
        spec = {} if listening is None else {"listeners": listening}
        return gateway(*map(route_of, found), name=name, policy={"failOpen": is_open}, **spec)
    if kind == "service":
        return service(name, {"name": "http", "port": value})
    if kind == "slice":
        addresses = [f"10.0.{name[1]}.{each}" for each in value]
        return endpoint_slice("-".join(map(str, name)), name[0], *addresses, ports=[{"name": "http", "port": 8080}])
    return tls_secret(*pair(value))


def key_of(kind: str, name: Any) -> ObjectKey:
    group, word = {
        "gateway": ("gateway.tidegate.dev", "DynamicGateway"),
        "service": ("", "Service"),
        "slice": ("discovery.k8s.io", "EndpointSlice"),
        "secret": ("", "Secret"),
    }[kind]
    return ObjectKey(group, word, "default", name if isinstance(name, str) else "-".join(map(str, name)))


@dataclass
class Told:
    """A model, all that it was told, and the sum of what it said."""

    model: GatewayModel = field(default_factory=GatewayModel)
    standings: dict[ObjectKey, Standing] = field(default_factory=dict)
    facts: FactChanges = NO_FACTS
    resources: dict[Address, Resource] = field(default_factory=dict)
    outcome: dict[str, dict[Any, Any]] = field(
        default_factory=lambda: {"reports": {}, "watches": {}, "decisions": {}, "lingering": {}}
    )

    def take(self, steps: list[Step]) -> Round:
        objects: dict[ObjectKey, Standing | None] = {}
        facts = NO_FACTS
        for kind, name, value in steps:
            if kind == "verdict":
                facts |= FactChanges(verdicts={name: value})
            elif kind == "fleet":
                facts |= FactChanges(fleets={name: value})
            elif kind == "drained":
                facts |= FactChanges(drained=frozenset({BackendKey("default", name, value)}))
            else:
                body = None if value is None else body_of(kind, name, value)
                objects[key_of(kind, name)] = None if body is None else Standing(decoded(body))
        sum_up(self.standings, objects)
        self.facts |= facts
        return self.note(self.model.update(objects, facts))

    def note(self, made: Round) -> Round:
        assert not made.faults
        sum_up(self.resources, made.resources)
        for name, whole in self.outcome.items():
            sum_up(whole, getattr(made.outcome, name))
        return made

    def everything(self) -> tuple[object, ...]:
        contents = {key: (each.body, each.refs, each.origins) for key, each in self.resources.items()}
        return contents, self.outcome

    def from_scratch(self) -> Told:
        """The same from scratch, with the same memory."""
        fresh = Told()
        old, new = self.model._facts, fresh.model._facts
        fresh.model._engine.update(
            *(getattr(new, name).edit(getattr(old, name).values) for name in ("decided", "endpoints", "drained"))
        )
        fresh.model._restored = dict(fresh.model._derived.lingering.values)
        # What is drained is in what is remembered, as long as it counts.
        fresh.note(fresh.model.update(self.standings, replace(self.facts, drained=frozenset())))
        return fresh


def sum_up(whole: dict[Any, Any], changes: Mapping[Any, Any]) -> None:
    for key, value in changes.items():
        if value is None:
            whole.pop(key, None)
        else:
            whole[key] = value


@given(steps)
@settings(max_examples=60, deadline=None)
def test_step_by_step_equals_from_scratch(steps: list[list[Step]]) -> None:
    told = Told()
    for each in steps:
        told.take(each)
        assert told.resources == told.model.resources
        assert told.everything() == told.from_scratch().everything()


WORLD: list[Step] = [
    ("gateway", "shop", ([{"name": "a", "path": "/a", "backendService": "cart", "lag": None}], None, True)),
    *(("service", name, 80) for name in SERVICES),
    *(("slice", (name, 1), [1, 2]) for name in SERVICES),
]
ROUTE = ROUTES[0]
LITE = BackendKey("default", "lite", 80)
DRAINED: list[Step] = [("drained", name, 80) for name in SERVICES]


def types_of(made: Round) -> set[str]:
    return {url.rpartition(".")[2] for _, url, _ in made.resources}


def test_a_switch_changes_one_route_configuration_and_warms_nothing() -> None:
    told = Told()
    told.take(WORLD)
    assert types_of(told.take([("verdict", ROUTE, Verdict.OVER)])) == {"RouteConfiguration"}
    assert types_of(told.take([("slice", ("cart", 1), [1])])) == {"ClusterLoadAssignment"}
    assert not told.take([("verdict", ROUTE, Verdict.OVER)]).resources


def without_endpoints(told: Told) -> tuple[str, bytes]:
    """What is decided of the route and served of its backend once this has no endpoints."""
    told.take([("slice", ("cart", 1), None)])
    return told.outcome["decisions"][ROUTE].choice, told.resources["default", ENDPOINT, "default/cart/80"].body


def test_the_last_endpoints_are_remembered_also_by_the_next_process() -> None:
    told = Told()
    told.take(WORLD)
    good = told.outcome["decisions"].copy()
    body = told.resources["default", ENDPOINT, "default/cart/80"].body
    assert without_endpoints(told) == ("fail_open", body)
    again = Told()
    again.model.restore(good, [snapshot(told, ENDPOINT)])
    again.take([step for step in WORLD if step[:2] != ("slice", ("cart", 1))])
    assert without_endpoints(again) == ("fail_open", body)


LIMITED: Step = ("gateway", "shop", ([{"name": "a", "path": "/a", "backendService": "cart", "maxQps": 5}], None, True))


def snapshot(told: Told, url: str) -> Snapshot:
    """What was served of a type."""
    typeset = Typeset(url, {each.name: each for each in told.resources.values() if each.type_url == url})
    return Snapshot("default", 1, 0.0, {url: typeset})


def test_the_next_process_shares_limits_as_this_one_does() -> None:
    told = Told()
    told.take([*WORLD[1:], LIMITED])
    assert types_of(told.take([("fleet", "default", 3)])) == {"RouteConfiguration"}
    assert not told.take([("fleet", "default", 3), ("fleet", "edge", 2)]).resources
    served = snapshot(told, ROUTES_TYPE)
    assert restored_fleets([served]) == {"default": 3}
    again = Told()
    again.model.restore({}, [served])
    again.take([*WORLD[1:], LIMITED])
    assert again.everything() == told.everything()
    told.take(WORLD)
    assert restored_fleets([snapshot(told, ROUTES_TYPE)]) == {}, "there is no limit"


def test_the_size_of_a_fleet_without_limits_changes_nothing() -> None:
    told = Told()
    told.take(WORLD)
    made = told.take([("fleet", "default", 3)])
    assert not made.resources
    assert not made.outcome


def test_what_is_gone_is_not_remembered() -> None:
    told = Told()
    told.take(WORLD)
    told.take([(kind, name, None) for kind, name, _ in WORLD])
    facts = told.model._facts
    assert not told.resources
    told.take(DRAINED)
    assert not facts.decided.values
    assert not facts.endpoints.values
    assert not facts.drained.values
    told.take(WORLD)
    told.take([("verdict", ROUTE, Verdict.OVER), *((kind, name, None) for kind, name, _ in WORLD[1:])])
    told.take(DRAINED)
    assert set(facts.endpoints.values) == {("default", "cart", 80)}, "the route's, as long as it is there"
    told.take([("gateway", "shop", None)])
    assert not facts.decided.values
    assert not facts.endpoints.values


def endpoints_of(told: Told, name: str) -> tuple[Locality, ...]:
    return read_back(told.resources["default", ENDPOINT, f"default/{name}/80"])


def test_what_loses_its_endpoints_keeps_them_until_it_is_drained_and_routes_move_at_once() -> None:
    told = Told()
    told.take([*WORLD, ("verdict", ROUTE, Verdict.OVER)])
    before = endpoints_of(told, "lite")
    made = told.take([("slice", ("lite", 1), [])])
    assert told.outcome["decisions"][ROUTE].choice == "primary"
    assert types_of(made) == {"RouteConfiguration"}
    assert made.outcome.lingering == {LITE: True}
    assert endpoints_of(told, "lite") == before
    made = told.take(DRAINED)
    assert types_of(made) == {"ClusterLoadAssignment"}
    assert made.outcome.lingering == {LITE: None}
    assert endpoints_of(told, "lite") == ()
    assert endpoints_of(told, "cart"), "of what is healthy nothing is drained"
    told.take([("slice", ("lite", 1), [1])])
    made = told.take([("slice", ("lite", 1), [])])
    assert made.outcome.lingering == {LITE: True}, "each time anew"


def test_a_backend_that_never_had_endpoints_is_empty_at_once() -> None:
    told = Told()
    made = told.take([step for step in WORLD if step[:2] != ("slice", ("lite", 1))])
    assert endpoints_of(told, "lite") == ()
    assert not made.outcome.lingering


def test_what_is_lost_while_the_process_is_down_lingers_too() -> None:
    told = Told()
    told.take(WORLD)
    typeset = Typeset(ENDPOINT, {each.name: each for each in told.resources.values() if each.type_url == ENDPOINT})
    again = Told()
    again.model.restore(told.outcome["decisions"], [Snapshot("default", 1, 0.0, {ENDPOINT: typeset})])
    made = again.take([step for step in WORLD if step[:2] != ("slice", ("lite", 1))])
    assert made.outcome.lingering[LITE] is True
    assert endpoints_of(again, "lite") == endpoints_of(told, "lite")
    again.take(DRAINED)
    assert endpoints_of(again, "lite") == ()

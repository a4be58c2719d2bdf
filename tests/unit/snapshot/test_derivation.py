"""Objects, and what is derived of them: who keeps what, what stays of what can't be read, and what is restored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from k8s_source.kinds.decode import decode_manifest
from tests.unit.k8s_source.manifests import service
from xds_server.demo.world import cluster
from xds_server.derive.outcome import Outcome
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.facts import FactChanges, RouteKey, Verdict
from xds_server.ir.objects import Object, ObjectKey, Standing
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.ir.switches import FrozenRoutes, Switches
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.snapshot.derivation import Round
from xds_server.snapshot.objects import NOTHING_GOOD, LastGood, ObjectStore
from xds_server.snapshot.snapshot import Snapshot
from xds_server.sources.files.parse import FilePlace, parse
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER

ROUTE = RouteKey("shop", "checkout", "pay")


def origin(name: str, file: str = "a.yaml", line: int = 1) -> Origin:
    return Origin("files", file, 1, line, "tests/v1", "Thing", "shop", name)


def thing(name: str, value: str, file: str = "a.yaml") -> Object:
    key = ObjectKey("tests", "Thing", "shop", name)
    return Object(key, value, origin(name, file), "g")


def bad(name: str, file: str = "a.yaml") -> Problem:
    return Problem(origin(name, file), "InvalidValue", "no good", "spec")


def unit(file: str, *objects: Object | Problem, broken: bool = False) -> Unit:
    problems = tuple(each for each in objects if isinstance(each, Problem))
    found = tuple(each for each in objects if isinstance(each, Object))
    return Unit(file, objects=found, problems=problems, broken=broken)


def unreadable(file: str) -> Unit:
    return unit(file, Problem(Origin("files", file), "InvalidSyntax", "no YAML"), broken=True)


class Things:
    """Makes a cluster of each object, whose bytes are its value and the verdict."""

    def __init__(self) -> None:
        self.resources: dict[tuple[str, str, str], Resource] = {}
        self.standings: dict[ObjectKey, Standing] = {}
        self.calls: list[set[str]] = []
        self._verdict = ""

    def update(self, objects: Mapping[ObjectKey, Standing | None], facts: FactChanges) -> Round:
        self._verdict = facts.verdicts.get(ROUTE, self._verdict)
        self.calls.append({key.name for key in objects})
        changed: dict[tuple[str, str, str], Resource | None] = {}
        for key in (*objects, *(self.standings if facts.verdicts else ())):
            standing = objects.get(key, self.standings.get(key))
            address = ("g", CLUSTER, key.name)
            held = standing.object if standing else None
            if standing is None:
                self.standings.pop(key, None)
            else:
                self.standings[key] = standing
            body = f"{held.value}{self._verdict}".encode() if held else b""
            changed[address] = Resource(key.name, CLUSTER, body, origins=(held.origin,)) if held else None
        for address, resource in changed.items():
            if resource is None:
                self.resources.pop(address, None)
            else:
                self.resources[address] = resource
        return Round(changed, Outcome())

    def govern(self, switches: Switches, frozen: FrozenRoutes) -> FrozenRoutes:
        raise NotImplementedError


class World:
    def __init__(self, *, before: Snapshot | None = None, good: LastGood = NOTHING_GOOD) -> None:
        self.things = Things()
        self.assembler = Assembler(decode, prune_routes, deriving=self.things)
        if before is not None:
            self.assembler.restore([before], {"files": 0}, good)

    def apply(self, *units: Unit, gone: str = "", pay: Verdict | None = None) -> Snapshot | None:
        changes: dict[str, Unit | None] = {each.key: each for each in units}
        if gone:
            changes[gone] = None
        told = FactChanges({ROUTE: pay} if pay is not None else {})
        made = self.assembler.apply([Batch(0, "files", changes)], 1.0, None, told)
        return made[0] if made else None


def contents(snapshot: Snapshot | None) -> dict[str, str]:
    assert snapshot is not None
    return {each.name: each.body.decode() for each in snapshot.typeset(CLUSTER)}


def test_the_first_place_keeps_an_identity_and_the_others_are_told() -> None:
    store = ObjectStore()
    store.take(1, "a.yaml", unit("a.yaml", thing("x", "second")))
    store.take(0, "b.yaml", unit("b.yaml", thing("x", "first", "b.yaml"), thing("x", "again", "b.yaml")))
    (standing,) = store.changes().values()
    assert standing is not None
    assert standing.object is not None
    assert standing.object.value == "first"
    assert [(each.reason, each.origin.path) for each in store.catalog.problems(0)] == [("DuplicateObject", "b.yaml")]
    (problem,) = store.catalog.problems(1)
    assert (problem.reason, problem.field) == ("DuplicateObject", "metadata.name")
    assert problem.message == "Thing/shop/x is declared already in b.yaml:1, which keeps the name"
    assert store.catalog.objects(1) == {"Thing": 1}
    store.take(0, "b.yaml", None)
    (standing,) = store.changes().values()
    assert standing is not None
    assert standing.object is not None
    assert standing.object.value == "second"
    assert not store.catalog.problems(1)
    assert not store.changes()


def test_an_object_that_can_not_be_read_keeps_its_last_good_form_and_the_rest_goes_on() -> None:
    store = ObjectStore()
    store.take(0, "a.yaml", unit("a.yaml", thing("x", "old"), thing("y", "old"), thing("z", "old")))
    store.changes()
    store.take(0, "a.yaml", unit("a.yaml", bad("x"), replace(bad("x"), field="status"), thing("y", "new")))
    found = {key.name: each for key, each in store.changes().items()}
    assert found["z"] is None
    assert found["x"] is not None
    assert found["x"].object is not None
    assert (found["x"].object.value, [each.field for each in found["x"].problems]) == ("old", ["spec", "status"])
    assert found["y"] == Standing(thing("y", "new"))
    store.take(0, "a.yaml", unit("a.yaml", thing("x", "new"), thing("y", "new")))
    assert next(iter(store.changes().values())) == Standing(thing("x", "new"))


def test_an_object_that_was_never_good_stands_with_what_is_wrong() -> None:
    store = ObjectStore()
    store.take(0, "a.yaml", unit("a.yaml", bad("x")))
    assert list(store.changes().values()) == [Standing(None, (bad("x"),))]
    store.take(0, "a.yaml", None)
    assert list(store.changes().values()) == [None]


def test_a_place_that_can_not_be_read_or_named_keeps_all_it_had_and_that_is_told() -> None:
    store = ObjectStore()
    store.take(0, "a.yaml", unit("a.yaml", thing("x", "old")))
    store.changes()
    unnamed = Problem(Origin("files", "a.yaml", 1, 1), "Unnamed", "no name")
    for each in (
        unreadable("a.yaml"),
        unit("a.yaml", unnamed),
        unit("a.yaml", replace(unnamed, message="still none"), thing("y", "new")),
    ):
        assert store.take(0, "a.yaml", each) is bool(each.objects)
        found = {key.name: standing for key, standing in store.changes().items()}
        assert found.pop("x") == Standing(thing("x", "old"), each.problems)
        assert list(found.values()) == [Standing(each) for each in each.objects]
        store.take(0, "a.yaml", each)
        assert "x" not in {key.name for key in store.changes()}, "it is told once"
    store.take(0, "a.yaml", unit("a.yaml", thing("x", "old")))
    assert {key.name: standing for key, standing in store.changes().items()} == {
        "x": Standing(thing("x", "old")),
        "y": None,
    }


def test_a_place_that_can_not_be_read_and_goes_takes_all_it_had_along() -> None:
    store = ObjectStore()
    store.take(0, "a.yaml", unit("a.yaml", thing("x", "old")))
    store.take(0, "a.yaml", unreadable("a.yaml"))
    store.take(1, "b.yaml", unit("b.yaml", thing("x", "other", "b.yaml")))
    (standing,) = store.changes().values()
    assert standing is not None
    assert [each.reason for each in (*standing.problems, *standing.duplicates)] == ["InvalidSyntax", "DuplicateObject"]
    store.take(0, "a.yaml", None)
    assert list(store.changes().values()) == [Standing(thing("x", "other", "b.yaml"))]


@pytest.mark.parametrize(
    ("slip", "stays"),
    [
        ({"kind": "Servicee"}, True),
        ({"apiVersion": "v2"}, True),
        ({"kind": "ServiceAccount"}, False),
        ({"apiVersion": "serving.knative.dev/v1"}, False),
    ],
)
def test_a_slip_in_the_kind_takes_nothing_away(slip: dict[str, str], *, stays: bool) -> None:
    store = ObjectStore()
    place = FilePlace("files", "a.yaml", "a.yaml", "default")

    def hand_over(body: dict[str, object]) -> list[Standing | None]:
        store.take(0, "a.yaml", parse(place, json.dumps(body).encode(), decode_manifest))
        return [each for key, each in store.changes().items() if key.kind == "Service" and not key.api_group]

    assert hand_over(service()) != [None]
    (standing,) = hand_over({**service(), **slip})
    assert (standing is not None) is stays
    assert standing is None or (standing.object is not None and len(standing.problems) == 1)


def test_a_verdict_that_an_edit_changed_names_the_file() -> None:
    world = World()
    world.apply(unit("a.yaml", thing("x", "old")))
    world.assembler.apply([], 2.0, None, FactChanges({ROUTE: Verdict.OVER}))
    facts = FactChanges(edited={ROUTE: "a.yaml:3"}) | FactChanges({ROUTE: Verdict.NORMAL})
    (snapshot,) = world.assembler.apply([], 3.0, None, facts)
    assert snapshot.origin.source == "observers"
    assert snapshot.origin.change == f"{ROUTE}: normal (what it watches was changed in a.yaml:3)"


def test_a_round_costs_what_changed_and_tells_what_made_it() -> None:
    world = World()
    world.apply(unit("a.yaml", *(thing(f"t{number}", "1") for number in range(100))), unit("b.yaml", thing("x", "1")))
    snapshot = world.apply(unit("b.yaml", thing("x", "2", "b.yaml")))
    assert world.things.calls[-1] == {"x"}
    assert contents(snapshot)["x"] == "2"
    assert snapshot is not None
    assert (snapshot.origin.source, snapshot.origin.change) == ("files", "b.yaml")
    assert world.assembler.objects(0) == {"Thing": 101}
    snapshot = world.apply(pay=Verdict.OVER)
    assert snapshot is not None
    assert (snapshot.origin.source, snapshot.origin.change) == ("observers", "shop/checkout/pay: over")
    assert contents(snapshot)["x"] == "2over"


def test_a_name_that_is_declared_natively_too_is_the_native_one() -> None:
    world = World()
    native = NativeDocument(
        "g", cluster("x", type="STATIC", eds_cluster_config=None), Origin("files", "native.yaml", 1, 1)
    )
    snapshot = world.apply(unit("a.yaml", thing("x", "1")), Unit("native.yaml", (native,)))
    assert snapshot is not None
    assert snapshot.typeset(CLUSTER).resources["x"].origins[0].path == "native.yaml"
    assert [(each.name, each.reason) for each in snapshot.left_out] == [("x", "DuplicateName")]
    assert [each.reason for each in world.assembler.problems(0, "files")] == ["DuplicateName"]
    assert contents(world.apply(gone="native.yaml")) == {"x": "1"}


def before(*units: Unit) -> Snapshot:
    snapshot = World().apply(*units)
    assert snapshot is not None
    return snapshot


def test_after_a_start_what_was_derived_stays_until_all_it_was_made_of_is_read() -> None:
    old = before(unit("a.yaml", thing("x", "1")), unit("b.yaml", thing("y", "1", "b.yaml")))
    world = World(before=old)
    assert world.apply(unit("a.yaml", thing("x", "2")), unreadable("b.yaml")) is None
    assert world.apply(unit("a.yaml", thing("x", "3"))) is None
    assert contents(world.apply(unit("b.yaml", thing("y", "2", "b.yaml")))) == {"x": "3", "y": "2"}
    assert world.apply(unreadable("b.yaml")) is None
    assert contents(world.apply(unit("a.yaml", thing("x", "4")))) == {"x": "4", "y": "2"}


def test_after_a_start_an_object_that_can_not_be_read_holds_what_was_derived() -> None:
    world = World(before=before(unit("a.yaml", thing("x", "1"), thing("y", "1"))))
    assert world.apply(unit("a.yaml", bad("x"), thing("y", "2"))) is None
    assert contents(world.apply(unit("a.yaml", thing("y", "2")))) == {"y": "2"}


def test_after_a_start_an_object_that_never_was_good_holds_nothing() -> None:
    world = World(before=before(unit("a.yaml", thing("x", "1"), bad("y"))))
    assert contents(world.apply(unit("a.yaml", thing("x", "2"), bad("y")))) == {"x": "2"}
    assert not world.assembler.is_waiting


@pytest.mark.parametrize(
    "slip",
    [
        unreadable("b.yaml"),
        unit("b.yaml", bad("y", "b.yaml")),
        unit("b.yaml", Problem(Origin("files", "b.yaml"), "NoName", "")),
    ],
    ids=["a broken place", "an object that can't be read", "one without a name"],
)
def test_after_a_start_the_last_good_form_stands_and_the_rest_goes_on(slip: Unit) -> None:
    good = [thing("x", "1"), thing("y", "1", "b.yaml")]
    old = before(unit("a.yaml", good[0]), unit("b.yaml", good[1]))
    world = World(before=old, good=LastGood(good))
    assert contents(world.apply(unit("a.yaml", thing("x", "2")), slip)) == {"x": "2", "y": "1"}
    assert contents(world.apply(unit("b.yaml", thing("y", "2", "b.yaml")))) == {"x": "2", "y": "2"}
    assert contents(world.apply(gone="b.yaml")) == {"x": "2"}


def test_after_a_start_a_form_that_is_withheld_holds_what_was_derived() -> None:
    good = [thing("x", "1"), thing("y", "1", "b.yaml"), thing("z", "1", "b.yaml")]
    old = before(unit("a.yaml", good[0]), unit("b.yaml", *good[1:]))
    world = World(before=old, good=LastGood(good[:2], [good[2].origin]))
    assert world.apply(unit("a.yaml", thing("x", "2")), unreadable("b.yaml")) is None
    assert contents(world.apply(unit("b.yaml", thing("z", "2", "b.yaml")))) == {"x": "2", "z": "2"}


def test_after_a_start_what_was_in_force_and_is_declared_no_more_goes() -> None:
    good = [thing("x", "1"), thing("y", "1", "b.yaml")]
    world = World(before=before(unit("a.yaml", good[0]), unit("b.yaml", good[1])), good=LastGood(good))
    assert contents(world.apply(unit("a.yaml", thing("x", "1")))) == {"x": "1"}
    assert world.things.standings.keys() == {good[0].key}


def test_after_a_start_what_is_declared_no_more_goes() -> None:
    old = before(unit("a.yaml", thing("x", "1")), unit("b.yaml", thing("y", "1", "b.yaml")))
    assert contents(World(before=old).apply(unit("a.yaml", thing("x", "1")))) == {"x": "1"}
    world = World(before=old)
    assert world.apply(unreadable("b.yaml"), unit("a.yaml", thing("x", "1"))) is None
    assert contents(world.apply(gone="b.yaml")) == {"x": "1"}


def test_after_a_start_a_source_that_declares_nothing_is_taken_for_one_that_is_not_there_yet() -> None:
    world = World(before=before(unit("a.yaml", thing("x", "1"))))
    assert world.apply() is None
    assert world.apply(unit("a.yaml")) is None, "an empty file declares nothing"
    assert [each.reason for each in world.assembler.problems(0, "files")] == ["NothingDeclared"]
    assert contents(world.apply(unit("b.yaml", thing("y", "1", "b.yaml")))) == {"y": "1"}
    assert not world.assembler.problems(0, "files")

"""The last known good and the sources that come after it: nothing is taken away before its source has spoken."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.unit.snapshot.test_closure import prune
from xds_server.demo.world import Document, assignment, cluster, route, routes
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.snapshot.snapshot import Hold, Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.wire.resource import Held
from xds_server.wire.types import CLUSTER, ROUTE

RANKS = {"files": 0, "other": 1}


def unit(key: str, documents: Iterable[Document] = (), *, source: str = "files", broken: bool = False) -> Unit:
    """What a file says, or that it can't be read."""
    origin = Origin(source, f"/config/{key}")
    problems = (Problem(origin, "InvalidYaml", "no YAML"),) if broken else ()
    return Unit(key, tuple(NativeDocument("g", each, origin) for each in documents), problems=problems, broken=broken)


def batch(*units: Unit, source: str = "files") -> Batch:
    """What a source hands over."""
    return Batch(RANKS[source], source, {each.key: each for each in units})


def site(name: str) -> list[Document]:
    return [cluster(name), assignment(name, [80])]


def served(*batches: Batch) -> Snapshot:
    """What a process before this one served last, read back: other objects, equal contents."""
    snapshot = Assembler(decode, prune_routes).apply(batches, 1.0)[-1]
    types = {
        url: Typeset(url, {each.name: each for each in typeset.resources.values()})
        for url, typeset in snapshot.types.items()
    }
    return Snapshot("g", 7, 1.0, types, snapshot.left_out, snapshot.origin)


def restored(snapshot: Snapshot) -> Assembler:
    assembler = Assembler(decode, prune_routes)
    assembler.restore([snapshot], RANKS)
    return assembler


def names(snapshot: Snapshot, url: str = CLUSTER) -> set[str]:
    return set(snapshot.types[url].resources)


def test_equal_content_is_no_new_snapshot() -> None:
    last = served(batch(unit("a.yaml", site("a"))), batch(unit("b.yaml", site("b"), source="other"), source="other"))
    assembler = restored(last)
    both = (batch(unit("a.yaml", site("a"))), batch(unit("b.yaml", site("b"), source="other"), source="other"))
    assert assembler.apply(both, 2.0) == []
    (next_one,) = assembler.apply([batch(unit("a.yaml", site("c")))], 3.0)
    assert next_one.seq == 8
    assert names(next_one) == {"b", "c"}


def test_what_is_declared_no_more_goes_once_its_source_has_spoken() -> None:
    assembler = restored(served(batch(unit("a.yaml", site("a")), unit("b.yaml", site("b")))))
    (snapshot,) = assembler.apply([batch(unit("a.yaml", site("a")))], 2.0)
    assert names(snapshot) == {"a"}


def test_a_broken_file_keeps_its_last_good_content_across_a_restart() -> None:
    assembler = restored(served(batch(unit("a.yaml", site("a")), unit("b.yaml", site("b")), unit("c.yaml", site("c")))))
    (snapshot,) = assembler.apply([batch(unit("a.yaml", broken=True), unit("b.yaml", site("new")))], 2.0)
    assert names(snapshot) == {"a", "new"}
    assert [problem.reason for problem in assembler.problems(0, "files")] == ["InvalidYaml"]


EMPTIED = Unit("a.yaml", emptied=Problem(Origin("files", "/config/a.yaml"), "EmptyFile", "has no content at all"))


def test_an_emptied_file_keeps_its_last_good_content() -> None:
    assembler = Assembler(decode, prune_routes)
    assert assembler.apply([batch(EMPTIED)], 1.0) == []
    assert assembler.problems(0, "files") == [], "it never declared anything"
    assembler.apply([batch(unit("a.yaml", site("a")))], 2.0)
    assert assembler.apply([batch(EMPTIED)], 3.0) == []
    assert [problem.reason for problem in assembler.problems(0, "files")] == ["EmptyFile"]
    (snapshot,) = assembler.apply([Batch(0, "files", {"a.yaml": None})], 4.0)
    assert names(snapshot) == set(), "a file that is deleted declares no more"
    assert assembler.problems(0, "files") == []


def test_an_emptied_file_keeps_its_last_good_content_across_a_restart() -> None:
    assembler = restored(served(batch(unit("a.yaml", site("a")), unit("b.yaml", site("b")))))
    (snapshot,) = assembler.apply([batch(EMPTIED, unit("b.yaml", site("new")))], 2.0)
    assert names(snapshot) == {"a", "new"}
    assert [problem.reason for problem in assembler.problems(0, "files")] == ["EmptyFile"]


def test_a_document_that_does_not_decode_keeps_its_last_good_content_across_a_restart() -> None:
    assembler = restored(served(batch(unit("a.yaml", site("a")))))
    wrong = {**cluster("a"), "connect_timeout": "soon"}
    assert assembler.apply([batch(unit("a.yaml", [wrong, assignment("a", [80])]))], 2.0)[0].version == (
        served(batch(unit("a.yaml", site("a")))).version
    )


def test_a_name_that_dangles_keeps_its_last_good_content_across_a_restart() -> None:
    good = [*site("a"), routes("r", [route("a")])]
    last = served(batch(unit("a.yaml", good)))
    (snapshot,) = restored(last).apply([batch(unit("a.yaml", [*site("b"), routes("r", [route("ghost")])]))], 2.0)
    assert names(snapshot) == {"a", "b"}
    assert snapshot.types[ROUTE].version == last.types[ROUTE].version
    assert {each.reason for each in snapshot.left_out} == {"NoCluster", "StillReferenced"}


def test_what_was_served_in_part_is_no_last_good_content() -> None:
    partly = [*site("a"), routes("r", [route("a", prefix="/a"), route("b", prefix="/b"), route("c", prefix="/c")])]
    assembler = restored(served(batch(unit("a.yaml", partly))))
    assert assembler.apply([batch(unit("a.yaml", partly))], 2.0) == []
    (snapshot,) = assembler.apply([batch(unit("b.yaml", site("b")))], 3.0)
    assert snapshot.types[ROUTE].resources["r"].refs.clusters == {"a", "b"}


def test_a_source_that_declares_nothing_at_all_takes_nothing_away() -> None:
    last = served(batch(unit("a.yaml", site("a"))), batch(unit("b.yaml", site("b"), source="other"), source="other"))
    assembler = restored(last)
    (snapshot,) = assembler.apply([batch(unit("a.yaml", site("c"))), batch(source="other")], 2.0)
    assert names(snapshot) == {"b", "c"}
    assert [problem.reason for problem in assembler.problems(1, "other")] == ["NothingDeclared"]
    assert assembler.problems(0, "files") == []
    (snapshot,) = assembler.apply([batch(unit("b.yaml", site("d"), source="other"), source="other")], 3.0)
    assert names(snapshot) == {"c", "d"}
    assert assembler.problems(1, "other") == []
    (snapshot,) = assembler.apply([Batch(1, "other", {"b.yaml": None})], 4.0)
    assert names(snapshot) == {"c"}, "in a running process what is deleted is deleted"


def test_what_came_from_a_source_that_is_not_configured_any_more_goes() -> None:
    gone = Unit("x", (NativeDocument("g", cluster("x", type="STATIC", eds_cluster_config=None), Origin("gone", "/x")),))
    assembler = restored(
        served(Batch(0, "gone", {"x": gone}), batch(unit("b.yaml", site("b"), source="other"), source="other"))
    )
    (snapshot,) = assembler.apply([batch(unit("a.yaml", site("a"))), batch(source="other")], 2.0)
    assert names(snapshot) == {"a", "b"}


def test_contents_that_were_not_stored_are_filled_in_without_a_new_seq() -> None:
    last = served(batch(unit("a.yaml", site("a"))))
    known = last.types[CLUSTER].resources["a"]
    held = Held("a", CLUSTER, known.version, known.refs, known.origins)
    assembler = restored(Snapshot("g", 7, 1.0, {**last.types, CLUSTER: Typeset(CLUSTER, {"a": held})}))
    (filled,) = assembler.apply([batch(unit("a.yaml", site("a")))], 2.0)
    assert (filled.seq, filled.created, filled.version) == (7, 1.0, last.version)
    assert filled.types[CLUSTER].unknown == frozenset()
    assert assembler.apply([batch(unit("a.yaml", site("a")))], 3.0) == []


@pytest.mark.parametrize("held", [False, True])
def test_a_hold_survives(held: bool) -> None:  # noqa: FBT001
    last = served(batch(unit("a.yaml", site("a"))))
    hold = Hold(last.version, 3, "op", "why", 1.0) if held else None
    assembler = Assembler(decode, prune)
    assembler.restore([Snapshot("g", 7, 1.0, last.types, (), last.origin, hold)], RANKS)
    snapshots = assembler.apply([batch(unit("a.yaml", site("b")))], 2.0)
    assert [(each.held, names(each)) for each in snapshots] == ([] if held else [(None, {"b"})])

"""Views: what a stream lacks, what ends it, and that it only ever shrinks."""

from __future__ import annotations

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from xds_server.snapshot.groups import leave_out
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset, empty
from xds_server.snapshot.views import Views
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, LISTENER


class Group:
    """A group's views, told in short words: contents are `name=mark` of listeners."""

    def __init__(self) -> None:
        self.serial = 0
        self.snapshot: Snapshot | None = None
        self.views = Views(lambda: self.snapshot, leave_out)

    def declare(self, *words: str) -> None:
        before = self.snapshot
        old = before.typeset(LISTENER) if before else empty(LISTENER)
        new = {each.name: each for each in map(content, words)}
        typeset = old.evolve({**dict.fromkeys(old.resources), **new})
        self.snapshot = Snapshot("g", before.seq + 1 if before else 1, 0.0, {LISTENER: typeset})

    def accept(self, *words: str) -> set[object]:
        self.serial += 1
        found = {each.name: each for each in map(content, words)}
        changes: dict[str, str | None] = {each.name: each.version for each in found.values()}
        return set(self.views.accept(self.serial, changes, Typeset(LISTENER, found)))

    def refuse(self, stream: str, *words: str, had: str = "") -> None:
        held = {each.name: each for each in map(content, had.split())}
        self.views.refuse(stream, stream, map(content, words), "no", Typeset(LISTENER, held))

    def offered(self, stream: str) -> set[str]:
        view = self.views.of(stream)
        return words_of(view) if view is not None else set()


def content(word: str) -> Resource:
    return Resource(word.partition("=")[0], LISTENER, word.encode())


def words_of(snapshot: Snapshot) -> set[str]:
    return {each.body.decode() for each in snapshot.typeset(LISTENER)}


def group(*accepted: str) -> Group:
    """A group in which these contents are served and accepted."""
    made = Group()
    made.declare(*accepted)
    made.accept(*accepted)
    return made


def test_who_begins_after_a_refusal_gets_what_was_accepted_before() -> None:
    g = group("l=1", "m=1")
    g.views.begin("early")
    g.declare("l=2", "m=1")
    g.views.begin("between")
    g.refuse("early", "l=2")
    g.views.begin("late")
    assert g.offered("early") == g.offered("between") == {"l=2", "m=1"}, "what was offered is not taken back"
    assert g.offered("late") == {"l=1", "m=1"}
    (standing,) = g.views.standing()
    assert (standing.nodes, standing.message) == (["early"], "no")
    assert standing.stand_in is not None


def test_what_no_node_had_accepted_before_is_left_out() -> None:
    g = group("m=1")
    g.declare("l=1", "m=1")
    g.refuse("early", "l=1")
    g.views.begin("late")
    assert g.offered("late") == {"m=1"}


def test_what_the_refusing_node_had_stands_in_when_nothing_else_is_known() -> None:
    g = Group()
    g.declare("l=2")
    g.refuse("early", "l=2", had="l=1")
    g.views.begin("late")
    assert g.offered("late") == {"l=1"}


def test_what_nodes_claim_after_a_restart_stands_in() -> None:
    g = Group()
    g.declare("l=1", "m=1")
    assert g.snapshot is not None
    g.views.claim(g.snapshot.typeset(LISTENER), frozenset("l"))
    g.declare("l=2", "m=2")
    g.refuse("early", "l=2", "m=2")
    g.views.begin("late")
    assert g.offered("late") == {"l=1"}, "nobody claims to have had m"


def test_a_claim_of_what_is_judged_is_an_acceptance() -> None:
    g = group("l=1")
    g.declare("l=2")
    g.refuse("early", "l=2")
    g.views.begin("late")
    assert g.snapshot is not None
    assert set(g.views.claim(g.snapshot.typeset(LISTENER), None)) == {"late"}


def test_an_acceptance_by_any_node_ends_it_for_all() -> None:
    g = group("l=1")
    g.declare("l=2")
    g.refuse("early", "l=2")
    g.views.begin("late")
    assert g.offered("late") == {"l=1"}
    assert g.accept("l=2") == {"late"}
    assert g.offered("late") == {"l=2"}
    assert g.views.standing() == []
    g.refuse("other", "l=2")
    assert g.views.standing() == [], "one node has shown that it can be used"


def test_of_what_was_refused_together_the_part_that_another_node_accepts_is_free() -> None:
    g = group("l=1", "m=1")
    g.declare("l=2", "m=2")
    g.refuse("early", "l=2", "m=2")
    g.views.begin("late")
    assert g.offered("late") == {"l=1", "m=1"}
    g.accept("m=2")
    assert g.offered("late") == {"l=1", "m=2"}


def test_a_change_of_content_ends_it_and_the_way_back_is_judged_too() -> None:
    g = group("l=1")
    g.declare("l=2")
    g.refuse("early", "l=2")
    g.views.begin("late")
    g.declare("l=3")
    assert g.offered("late") == {"l=3"}
    assert g.views.standing() == []
    g.declare("l=2")
    g.views.begin("later")
    assert g.offered("later") == {"l=1"}
    assert g.offered("late") == {"l=2"}, "this stream lacks nothing any more"


def test_what_a_stream_lacks_it_goes_on_to_lack_in_the_next_snapshot() -> None:
    g = group("l=1", "m=1")
    g.declare("l=2", "m=1")
    g.refuse("early", "l=2")
    g.views.begin("late")
    g.declare("l=2", "m=2")
    assert g.offered("late") == {"l=1", "m=2"}


def test_once_no_refusing_stream_is_left_those_with_something_to_fall_back_on_try_it() -> None:
    g = group("l=1")
    g.declare("l=2")
    g.refuse("early", "l=2")
    g.views.begin("settled")
    g.views.begin("new")
    assert not g.views.settle("settled", {LISTENER}), "it is refused on a stream that is up"
    assert set(g.views.end("early")) == {"settled"}
    assert g.offered("settled") == {"l=2"}
    assert g.offered("new") == {"l=1"}
    g.refuse("settled", "l=2")
    assert not g.views.settle("new", {LISTENER})
    assert g.offered("new") == {"l=1"}


def test_a_stream_that_settles_after_the_last_refusing_one_has_left_tries_it() -> None:
    g = group("l=1")
    g.declare("l=2")
    g.refuse("early", "l=2")
    g.views.end("early")
    g.views.begin("late")
    assert g.offered("late") == {"l=1"}, "nobody begins with it"
    assert not g.views.settle("late", {CLUSTER}), "listeners are not accepted yet"
    assert set(g.views.settle("late", {CLUSTER, LISTENER})) == {"late"}
    assert g.offered("late") == {"l=2"}


def test_equal_views_are_one_object_and_the_snapshot_itself_where_nothing_is_lacking() -> None:
    g = group("l=1")
    g.views.begin("early")
    g.declare("l=2")
    g.refuse("early", "l=2")
    g.views.begin("one")
    g.views.begin("other")
    assert g.views.of("one") is g.views.of("other") is g.views.offer()
    assert g.views.of("early") is g.snapshot


NAMES = st.sampled_from("lmn")
STREAMS = st.sampled_from("ABCD")


class Fleet(RuleBasedStateMachine):
    """Streams come, accept, refuse and go in any order; contents change all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.group = group("l=0", "m=0", "n=0")
        self.marks = dict.fromkeys("lmn", 0)
        self.up: set[str] = set()
        self.had: dict[str, set[str]] = {}

    @rule(name=NAMES, mark=st.integers(0, 3))
    def declare(self, name: str, mark: int) -> None:
        self.marks[name] = mark
        self.group.declare(*(f"{each}={number}" for each, number in self.marks.items()))

    @rule(stream=STREAMS)
    def begin(self, stream: str) -> None:
        if stream not in self.up:
            self.up.add(stream)
            self.group.views.begin(stream)
            judged = {f"{each.resource.body.decode()}" for each in self.group.views.standing()}
            assert judged.isdisjoint(self.group.offered(stream))
            self.had.pop(stream, None)

    @rule(stream=STREAMS)
    def end(self, stream: str) -> None:
        self.up.discard(stream)
        self.group.views.end(stream)

    @rule(stream=STREAMS, name=NAMES)
    def accept(self, stream: str, name: str) -> None:
        if stream in self.up:
            self.group.accept(*(each for each in self.group.offered(stream) if each[0] == name))

    @rule(stream=STREAMS, names=st.sets(NAMES, min_size=1))
    def refuse(self, stream: str, names: set[str]) -> None:
        if stream in self.up:
            self.group.refuse(stream, *(each for each in self.group.offered(stream) if each[0] in names))

    @rule(stream=STREAMS)
    def settle(self, stream: str) -> None:
        if stream in self.up:
            self.group.views.settle(stream, {LISTENER})

    @invariant()
    def nothing_is_taken_back(self) -> None:
        current = {f"{name}={mark}" for name, mark in self.marks.items()}
        for stream in self.up:
            offered = self.group.offered(stream)
            before = self.had.get(stream, set())
            assert before & current <= offered, "what it was offered and is still declared"
            assert len(offered) == len(current), "each name was accepted once, so something stands in"
            self.had[stream] = offered & current


Fleet.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestFleet = Fleet.TestCase

"""The book against a model of it: whatever is asked in whatever order."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from xds_server.ir.declared import EncodedDocument
from xds_server.ir.origin import Origin
from xds_server.sources.push.book import Book
from xds_server.sources.push.model import (
    BaseError,
    ConflictError,
    LimitError,
    Limits,
    NoSetError,
    Place,
    Push,
    PushedSet,
    PushError,
)

URL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
SETS, RESOURCES = 3, 6


def document(name: str, content: int = 0, group: str = "g") -> EncodedDocument:
    return EncodedDocument(group, URL, name, f"{name}={content}".encode(), Origin("push", "o"))


def names(book: Book, place: Place) -> list[str]:
    return sorted(name for _, name in book.sets[place].resources)


A, B = Place("a", "g"), Place("b", "g")


@dataclass(frozen=True)
class Ask:
    """One request, or the time that passes."""

    what: str
    place: Place
    version: str = "1"
    resources: dict[str, int] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    lease: float | None = None
    base: str | None = None


PLACES = st.builds(Place, st.sampled_from("abc"), st.sampled_from("gh"))
NAMES = st.sampled_from("pqrst")
ASKS = st.builds(
    Ask,
    st.sampled_from(["put", "patch", "delete", "wait"]),
    PLACES,
    st.sampled_from("123"),
    st.dictionaries(NAMES, st.integers(0, 2), max_size=4),
    st.lists(NAMES, max_size=2).map(tuple),
    st.none() | st.sampled_from([0.0, 1.0, 3.0]),
    st.none() | st.sampled_from("123"),
)


class Model:
    """The same in the plainest way: sets are copied whole, holders are looked for."""

    def __init__(self) -> None:
        self.sets: dict[Place, tuple[str, dict[str, int], float | None, float | None]] = {}

    def ask(self, ask: Ask, now: float) -> type[PushError] | None:
        version, there, lease, _ = self.sets.get(ask.place, (None, {}, None, None))
        if ask.what == "delete":
            if version is None:
                return NoSetError
            del self.sets[ask.place]
            return None
        lease = (ask.lease or None) if ask.what == "put" or ask.lease is not None else lease
        if version == ask.version:
            self._set(ask.place, version, there, lease, now)
            return None
        if ask.what == "patch" and ask.base is not None and ask.base != version:
            return BaseError
        wanted = {} if ask.what == "put" else {name: there[name] for name in there if name not in ask.removed}
        wanted.update(ask.resources)
        others = [
            each
            for place, (_, each, _, _) in self.sets.items()
            if place.group == ask.place.group and place != ask.place
        ]
        if any(name in other for other in others for name in ask.resources):
            return ConflictError
        if version is None and len(self.sets) >= SETS:
            return LimitError
        count = sum(len(each) for _, each, _, _ in self.sets.values()) - len(there)
        if len(wanted) > len(there) and count + len(wanted) > RESOURCES:
            return LimitError
        self._set(ask.place, ask.version, wanted, lease, now)
        return None

    def expire(self, now: float) -> None:
        self.sets = {place: each for place, each in self.sets.items() if each[3] is None or each[3] > now}

    def _set(self, place: Place, version: str, wanted: dict[str, int], lease: float | None, now: float) -> None:
        self.sets[place] = (version, wanted, lease, None if lease is None else now + lease)


def _ask(book: Book, ask: Ask, now: float) -> type[PushError] | None:
    documents = [document(name, content, ask.place.group) for name, content in ask.resources.items()]
    removed = [(URL, name) for name in ask.removed if name not in ask.resources]
    push = Push(ask.version, documents, removed, ask.lease, ask.base)
    try:
        if ask.what == "put":
            book.put(ask.place, push, now)
        elif ask.what == "patch":
            book.patch(ask.place, push, now)
        else:
            book.delete(ask.place)
    except PushError as error:
        return type(error)
    return None


@settings(max_examples=300, deadline=None)
@given(st.lists(ASKS, max_size=20))
def test_any_sequence_ends_where_the_model_does(asks: list[Ask]) -> None:
    book, model, now = Book(Limits(SETS, RESOURCES)), Model(), 0.0
    for ask in asks:
        if ask.what == "wait":
            now += 1.0
            book.expire(now)
            model.expire(now)
        else:
            assert _ask(book, ask, now) == model.ask(ask, now), ask
        told = {
            place: (each.version, {name: int(each.resources[URL, name].body[-1:]) for _, name in each.resources})
            for place, each in book.sets.items()
        }
        assert told == {place: (version, there) for place, (version, there, _, _) in model.sets.items()}
        assert {place: (each.lease, each.expires) for place, each in book.sets.items()} == {
            place: (lease, expires) for place, (_, _, lease, expires) in model.sets.items()
        }
        assert book.count == sum(len(each.resources) for each in book.sets.values())
        for each in book.sets.values():
            assert +each.counts == {URL: len(each.resources)} if each.resources else not +each.counts
        assert book.next_expiry() == min((each[3] for each in model.sets.values() if each[3] is not None), default=None)


def test_what_changed_is_only_what_is_not_as_before() -> None:
    book = Book(Limits())
    book.put(A, Push("1", [document(name) for name in "pqr"]), 0.0)
    changed = book.put(A, Push("2", [document("p"), document("q", 1), document("s")]), 0.0)
    assert sorted(name for _, name in changed.set) == ["q", "s"]
    assert changed.removed == [(URL, "r")]
    assert (changed.before, changed.is_new) == ("1", True)
    changed = book.patch(A, Push("3", [document("p")], [(URL, "nothing")]), 0.0)
    assert (changed.set, changed.removed, changed.is_new) == ({}, [], True)


def test_the_first_owner_keeps_a_name_and_all_of_the_other_s_request_is_refused() -> None:
    book = Book(Limits())
    book.put(A, Push("1", [document("p")]), 0.0)
    with pytest.raises(ConflictError) as error:
        book.put(B, Push("1", [document("q"), document("p")]), 0.0)
    assert [(each.name, each.holder, each.index) for each in error.value.conflicts] == [((URL, "p"), "a", 1)]
    assert B not in book.sets
    book.put(Place("b", "other"), Push("1", [document("p", group="other")]), 0.0)
    book.patch(A, Push("2", [], [(URL, "p")]), 0.0)
    book.put(B, Push("1", [document("q"), document("p")]), 0.0)
    assert names(book, B) == ["p", "q"]


def test_a_restored_set_holds_its_names_and_its_lease_begins_anew() -> None:
    book = Book(Limits())
    changed = book.put(A, Push("1", [document("p")], lease=5.0), 0.0)
    assert changed.pushed is not None
    later = Book(Limits())
    later.restore(A, changed.pushed, 100.0)
    assert later.next_expiry() == 105.0
    with pytest.raises(ConflictError):
        later.put(B, Push("1", [document("p")]), 100.0)


def test_what_was_not_stored_is_taken_from_the_same_version() -> None:
    lost = EncodedDocument("g", URL, "s", b"", Origin("push", "o"))
    book = Book(Limits())
    book.restore(A, PushedSet("1", {(URL, "s"): lost, (URL, "p"): document("p")}), 0.0)
    assert not book.patch(A, Push("1"), 0.0).is_new, "a renewal is one all the same"
    changed = book.patch(A, Push("1", [document("s")], base="0"), 0.0)
    assert (changed.is_new, list(changed.set)) == (True, [(URL, "s")])
    assert not book.put(A, Push("1", [document("s", 2)]), 0.0).is_new

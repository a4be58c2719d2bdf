"""The derivation engine: what a change touches is made anew, nothing else, and step by step equals from scratch."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st

from xds_server.derive.engine import Collection, Engine, Input, Read

Layer = tuple[str, int, int, int]
"""Kind, parent, the collection that is read, and a number that varies the maker."""

Steps = list[list[tuple[int, int, int | None]]]
"""Rounds of edits: input, key, value."""

layers = st.lists(
    st.tuples(st.sampled_from(["each", "many", "index", "union"]), st.integers(0), st.integers(0), st.integers(1, 4)),
    max_size=6,
)
edits = st.tuples(st.integers(0, 1), st.integers(0, 5), st.one_of(st.none(), st.integers(0, 9)))
rounds = st.lists(st.lists(edits, max_size=4), max_size=8)


class Graph:
    """Some layers of collections of numbers over two inputs."""

    def __init__(self, layers: list[Layer]) -> None:
        self.engine = Engine()
        first: Input[int, int] = self.engine.input("a")
        second: Input[int, int] = self.engine.input("b")
        self.inputs = [first, second]
        self.all: list[Collection[int, int]] = [first, second]
        for kind, parent, other, number in layers:
            known = len(self.all)
            self.all.append(self._derive(kind, self.all[parent % known], self.all[other % known], number))

    def _derive(
        self, kind: str, parent: Collection[int, int], other: Collection[int, int], number: int
    ) -> Collection[int, int]:
        def one(read: Read, key: int, value: int) -> int | None:
            found = read(other, value % number)
            return None if found == number else (value + (found if found is not None else -1)) % 10

        def several(read: Read, key: int, value: int) -> Mapping[int, int]:
            return {key * 10 + each: value for each in range((read(other, key) or value) % number)}

        def total(read: Read, key: int, members: tuple[int, ...]) -> int:
            assert list(members) == sorted(set(members))
            return sum(read(parent, member) or 0 for member in members) + len(members)

        name = str(len(self.all))
        if kind == "each":
            return self.engine.each(name, parent, one)
        if kind == "union":
            return self.engine.union(name, parent, self.engine.each(f"{name} besides", other, one))
        if kind == "many":
            return self.engine.many(name, parent, several)
        index = self.engine.index(name, parent, lambda _, value: {value % number, 7})
        return self.engine.each(f"{name} in all", index, total)

    def values(self) -> list[dict[int, int]]:
        return [dict(each.values) for each in self.all]


@given(layers, rounds)
def test_step_by_step_equals_from_scratch(layers: list[Layer], rounds: Steps) -> None:
    graph = Graph(layers)
    for edits in rounds:
        before = graph.values()
        changes = graph.engine.update(*(graph.inputs[number].edit({key: value}) for number, key, value in edits))
        scratch = Graph(layers)
        scratch.engine.update(*(new.edit(old.values) for new, old in zip(scratch.inputs, graph.inputs, strict=True)))
        assert graph.values() == scratch.values()
        assert not changes.faults
        for collection, old in zip(graph.all[2:], before[2:], strict=True):
            new = collection.values
            assert changes.of(collection) == {
                key: new.get(key) for key in old.keys() | new.keys() if old.get(key) != new.get(key)
            }


class Counted:
    """Names (input) → lengths → their parity, with an input of extra that lengths read."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.names: Input[str, str] = self.engine.input("names")
        self.extra: Input[str, int] = self.engine.input("extra")
        self.lengths = self.engine.each("lengths", self.names, self._length)
        self.parity = self.engine.each("parity", self.lengths, lambda _read, _key, length: length % 2 == 1)

    def _length(self, read: Read, key: str, name: str) -> int:
        if name == "broken":
            raise ValueError(name)
        return len(name) + (read(self.extra, name) or 0)


def test_an_item_that_comes_out_equal_goes_no_further() -> None:
    graph = Counted()
    graph.engine.update(graph.names.edit({str(number): "abc" for number in range(100)}))
    changes = graph.engine.update(graph.names.edit({"7": "xyz"}))
    assert changes.made == {"lengths": 1}
    changes = graph.engine.update(graph.names.edit({"7": "vwxyz"}))
    assert changes.made == {"lengths": 1, "parity": 1}
    assert changes.of(graph.lengths) == {"7": 5}
    assert not changes.of(graph.parity)
    assert graph.engine.update(graph.names.edit({"7": "vwxyz", "absent": None})).made == {}


def test_what_was_read_and_absent_makes_the_item_anew_when_it_comes() -> None:
    graph = Counted()
    graph.engine.update(graph.names.edit({"1": "one", "2": "two"}))
    changes = graph.engine.update(graph.extra.edit({"one": 10, "three": 1}))
    assert changes.made == {"lengths": 1, "parity": 1}
    assert graph.lengths.values == {"1": 13, "2": 3}
    assert graph.engine.update(graph.extra.edit({"one": None})).of(graph.lengths) == {"1": 3}


def test_what_is_not_read_any_more_makes_nothing() -> None:
    graph = Counted()
    graph.engine.update(graph.names.edit({"1": "one"}))
    graph.engine.update(graph.names.edit({"1": "two"}))
    assert graph.engine.update(graph.extra.edit({"one": 10})).made == {}
    graph.engine.update(graph.names.edit({"1": None}))
    assert graph.engine.update(graph.extra.edit({"two": 10})).made == {}
    assert not graph.lengths.values


def test_a_fault_of_ours_leaves_the_item_as_it_was_and_the_others_go_on() -> None:
    graph = Counted()
    graph.engine.update(graph.names.edit({"1": "one", "2": "two"}))
    changes = graph.engine.update(graph.names.edit({"1": "broken", "2": "three", "3": "broken"}))
    assert [(fault.collection, fault.key, str(fault.error)) for fault in changes.faults] == [
        ("lengths", "1", "broken"),
        ("lengths", "3", "broken"),
    ]
    assert graph.lengths.values == {"1": 3, "2": 5}
    changes = graph.engine.update(graph.extra.edit({"one": 4}))
    assert [fault.key for fault in changes.faults] == ["1"], "what it read before it failed still makes it anew"
    assert not graph.engine.update(graph.names.edit({"1": "healed"})).faults
    assert graph.lengths.values == {"1": 6, "2": 5}


def test_keys_of_two_items_that_meet_are_a_fault_and_may_move_from_one_to_the_other() -> None:
    engine = Engine()
    lists: Input[str, tuple[str, ...]] = engine.input("lists")
    items = engine.many("items", lists, lambda _read, key, names: dict.fromkeys(names, key))
    engine.update(lists.edit({"a": ("x", "y"), "b": ("z",)}))
    assert items.values == {"x": "a", "y": "a", "z": "b"}
    engine.update(lists.edit({"b": ("y", "z"), "a": ("x",)}))
    assert items.values == {"x": "a", "y": "b", "z": "b"}
    changes = engine.update(lists.edit({"a": ("x", "z")}))
    assert [(fault.key, "z" in str(fault.error)) for fault in changes.faults] == [("a", True)]
    assert items.values == {"x": "a", "y": "b", "z": "b"}


def test_one_reads_what_was_made_before_only() -> None:
    engine = Engine()
    numbers: Input[int, int] = engine.input("numbers")
    late: list[Collection[int, int]] = []
    early = engine.each("early", numbers, lambda read, key, _value: read(late[0], key))
    late.append(engine.each("late", numbers, lambda _read, _key, value: value))
    changes = engine.update(numbers.edit({1: 1}))
    assert [type(fault.error) for fault in changes.faults] == [LookupError]
    assert not early.values


@pytest.mark.parametrize("count", [1, 100])
def test_a_collection_that_is_added_later_is_made_of_what_is_there(count: int) -> None:
    engine = Engine()
    numbers: Input[int, int] = engine.input("numbers")
    engine.update(numbers.edit({each: each for each in range(count)}))
    doubled = engine.each("doubled", numbers, lambda _read, _key, value: value * 2)
    index = engine.index("all", numbers, lambda _key, _value: ["all"])
    assert engine.update().made == {"doubled": count, "all": count}
    assert len(doubled.values) == count
    assert index.values == {"all": tuple(range(count))}

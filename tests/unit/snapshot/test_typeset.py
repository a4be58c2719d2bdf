"""Typesets: versions made of content, and differences that are what a comparison from scratch finds."""

from __future__ import annotations

import gc
import weakref

import pytest
from hypothesis import given, settings, strategies as st

from xds_server.ir.origin import Origin
from xds_server.snapshot import typeset as typesets
from xds_server.snapshot.typeset import Typeset, empty
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER

NAMES = st.sampled_from("abcdef")
CONTENTS = st.none() | st.sampled_from(["1", "2", "3"])
CHANGES = st.dictionaries(NAMES, CONTENTS, max_size=4)


def made(changes: dict[str, str | None]) -> dict[str, Resource | None]:
    """Resources of these contents, None for a removal."""
    return {
        name: None if content is None else Resource(name, CLUSTER, content.encode())
        for name, content in changes.items()
    }


def contents(typeset: Typeset) -> dict[str, bytes]:
    """Name → content."""
    return {each.name: each.body for each in typeset}


def check(newer: Typeset, older: Typeset) -> None:
    """The difference is the one that a comparison from scratch finds."""
    new, old = contents(newer), contents(older)
    difference = newer.since(older)
    assert {each.name: each.body for each in difference.changed} == {
        name: body for name, body in new.items() if old.get(name) != body
    }
    assert set(difference.removed) == old.keys() - new.keys()
    assert (newer.version == older.version) == (new == old)


@settings(deadline=None)
@given(st.lists(CHANGES, max_size=12), st.lists(CHANGES, min_size=1, max_size=3))
def test_differences_are_those_of_a_comparison(
    history: list[dict[str, str | None]], overlays: list[dict[str, str | None]]
) -> None:
    line = [empty(CLUSTER)]
    for changes in history:
        line.append(line[-1].evolve(made(changes)))
    variants = [each.overlay(made(changes)) for each in line[-2:] for changes in overlays]
    everyone = [*line, *variants]
    for newer in everyone:
        for older in everyone:
            check(newer, older)


def test_a_long_history_is_compared_from_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typesets, "_LOG_LENGTH", 5)
    line = [empty(CLUSTER)]
    for number in range(30):
        line.append(line[-1].evolve(made({"abcdef"[number % 6]: str(number % 4)})))
    for newer in line:
        for older in line:
            check(newer, older)


@given(st.permutations(list("abcdef")), st.permutations(list("abcdef")))
def test_the_version_knows_no_order_and_no_history(one: list[str], other: list[str]) -> None:
    first, second = empty(CLUSTER), empty(CLUSTER).evolve(made({"gone": "1"}))
    for left, right in zip(one, other, strict=True):
        first, second = first.evolve(made({left: "1"})), second.evolve(made({right: "1"}))
    assert first.version == second.evolve(made({"gone": None})).version
    assert first.version != first.evolve(made({"a": "2"})).version


def test_nothing_new_is_the_same_typeset() -> None:
    typeset = empty(CLUSTER).evolve(made({"a": "1"}))
    assert typeset.evolve(made({"a": "1", "b": None})) is typeset
    assert typeset.overlay(made({"a": "1"})) is typeset
    assert typeset.overlay(made({"a": "2"})) is typeset.overlay(made({"a": "2"}))


def test_a_second_successor_is_a_line_of_its_own() -> None:
    root = empty(CLUSTER).evolve(made({"a": "1"}))
    one, other = root.evolve(made({"b": "1"})), root.evolve(made({"c": "1"}))
    check(one, other)
    check(other, one)
    check(other.evolve(made({"b": "1"})), one)


def test_retired_typesets_let_go_of_what_was_derived() -> None:
    typeset = empty(CLUSTER).evolve(made({"a": "1"}))
    variant = typeset.overlay(made({"b": "1"}))
    variant.since(typeset)
    typeset.shared("answer", lambda: ("x", 1))
    typeset.retire()
    for each in (typeset, variant):
        assert each.shared("answer", lambda: ("y", 1)) == "y"
        assert each.shared("answer", lambda: ("z", 1)) == "z", "what is retired remembers nothing"
    assert typeset.overlay(made({"b": "1"})) is typeset.overlay(made({"b": "1"})), "who lags behind shares variants"


def test_a_line_of_typesets_lives_no_longer_than_somebody_holds_them() -> None:
    """Streams that lag behind compare typesets that are retired; that must not chain one to the other for ever."""
    current = empty(CLUSTER)
    line: list[weakref.ref[Typeset]] = []
    for number in range(20):
        before, current = current, current.evolve(made({"a": str(number)}))
        before.retire()
        line.append(weakref.ref(before))
        for late in (before, before.overlay(made({"b": "1"}))):
            current.since(late)
            late.since(line[0]() or before)
    gc.collect()
    assert [each() is not None for each in line] == [False] * 19 + [True]


def test_a_typeset_needs_no_collector_to_go() -> None:
    """It may hold megabytes, and the collector of a server comes by seldom."""
    gc.disable()
    try:
        typeset = empty(CLUSTER).evolve(made({"a": "1"}))
        successor = typeset.evolve(made({"a": "2"}))
        variant = typeset.overlay(made({"b": "1"}))
        successor.since(variant)
        typeset.retire()
        gone = [weakref.ref(typeset), weakref.ref(variant), weakref.ref(successor)]
        del typeset, variant
        successor.retire()
        del successor
        assert [each() for each in gone] == [None] * 3
    finally:
        gc.enable()


def test_variants_are_kept_within_bounds() -> None:
    typeset = empty(CLUSTER).evolve(made({str(number): "1" for number in range(1000)}))
    variants = [weakref.ref(typeset.overlay(made({"0": str(number)}))) for number in range(2, 3000)]
    alive = sum(each() is not None for each in variants)
    assert 500 < alive < 1000


def test_content_that_is_declared_elsewhere_now_stays_and_tells_where() -> None:
    before = Resource("a", CLUSTER, b"1", origins=(Origin("files", "a.yaml", 1, 3),))
    typeset = empty(CLUSTER).evolve({"a": before})
    moved = Resource("a", CLUSTER, b"1", origins=(Origin("files", "a.yaml", 1, 5),))
    assert typeset.evolve({"a": moved}) is typeset
    assert typeset.get("a") is before
    assert before.origins == moved.origins

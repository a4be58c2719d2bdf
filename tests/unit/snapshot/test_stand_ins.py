"""Stand-ins: a snapshot without some of its contents is closed, lacks them, and is otherwise as it was."""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet

from hypothesis import given, strategies as st

from xds_server.ir.refs import Refs
from xds_server.snapshot.closure import Key, targets
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.stand_ins import without
from xds_server.snapshot.typeset import Typeset
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE

LETTERS = {CLUSTER: "abc", ENDPOINT: "ef", LISTENER: "lm", ROUTE: "rs"}
NEEDS = {CLUSTER: ENDPOINT, ROUTE: CLUSTER, LISTENER: ROUTE}

Contents = dict[Key, Resource]


def made(url: str, name: str, mark: int, needs: AbstractSet[str] = frozenset()) -> Resource:
    """A content that needs these names of the type below."""
    names = frozenset(needs)
    refs = {
        CLUSTER: Refs(assignments=names),
        ROUTE: Refs(clusters=names),
        LISTENER: Refs(routes=names),
        ENDPOINT: Refs(),
    }
    return Resource(name, url, f"{mark}{sorted(names)}".encode(), refs[url])


def prune(route: Resource, missing: AbstractSet[str]) -> tuple[Resource | None, list[str]]:
    """Leave the missing clusters out of a route configuration; with none left there is nothing to serve."""
    rest = route.refs.clusters - missing
    return (made(ROUTE, route.name, 9, rest), []) if rest else (None, [])


@st.composite
def contents(draw: st.DrawFn) -> Contents:
    """Some of everything, not closed."""
    found: Contents = {}
    for url, names in LETTERS.items():
        for name in names:
            if draw(st.booleans()):
                needs = draw(st.sets(st.sampled_from(LETTERS[NEEDS[url]]))) if url in NEEDS else set()
                found[url, name] = made(url, name, draw(st.integers(0, 2)), needs)
    return found


def closed(found: Contents) -> Contents:
    """The part of it of which everything resolves."""
    while dangling := [key for key, each in found.items() if not all(target in found for target in targets(each))]:
        found = {key: each for key, each in found.items() if key not in dangling}
    return found


def snapshot_of(found: Contents) -> Snapshot:
    types = {url: Typeset(url, {name: each for (kind, name), each in found.items() if kind == url}) for url in LETTERS}
    return Snapshot("g", 1, 0.0, types)


def all_of(snapshot: Snapshot) -> Contents:
    return {(url, each.name): each for url, typeset in snapshot.types.items() for each in typeset}


def versions(found: Mapping[Key, Resource]) -> dict[Key, str]:
    return {key: each.version for key, each in found.items()}


@given(contents().map(closed), contents(), st.data())
def test_the_variant_is_closed_and_lacks_what_is_withheld(
    before: Contents, known: Contents, data: st.DataObject
) -> None:
    snapshot = snapshot_of(before)
    keys = data.draw(st.sets(st.sampled_from(sorted(before))) if before else st.just(set()))
    other = {key: known[key] for key in keys if key in known and known[key].version != before[key].version}
    variant = without(snapshot, {key: other.get(key) for key in keys}, lambda url, name: known.get((url, name)), prune)
    has = all_of(variant)
    assert all(target in has for each in has.values() for target in targets(each)), "closed"
    for key in keys:
        assert key not in has or has[key] is other[key], "withheld"
    for key, each in has.items():
        options = [before.get(key), known.get(key)]
        assert any(option is not None and option.version == each.version for option in options) or key[0] == ROUTE
    assert variant.whole is snapshot
    if not keys:
        assert versions(has) == versions(before)


@given(contents().map(closed), st.data())
def test_what_does_not_need_what_is_withheld_is_as_it_was(before: Contents, data: st.DataObject) -> None:
    keys = data.draw(st.sets(st.sampled_from(sorted(before))) if before else st.just(set()))
    has = all_of(without(snapshot_of(before), dict.fromkeys(keys), lambda _url, _name: None, prune))
    untouched = closed({key: each for key, each in before.items() if key not in keys})
    assert versions(untouched).items() <= versions(has).items()


@given(contents().map(closed), st.data())
def test_the_order_in_which_things_are_withheld_means_nothing(before: Contents, data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.sampled_from(sorted(before)), unique=True)) if before else []
    one, other = (
        without(snapshot_of(before), dict.fromkeys(order), lambda _url, _name: None, prune)
        for order in (keys, keys[::-1])
    )
    assert versions(all_of(one)) == versions(all_of(other))


def test_a_stand_in_brings_back_what_it_needs() -> None:
    now = {(CLUSTER, "a"): made(CLUSTER, "a", 2)}
    old = made(CLUSTER, "a", 1, {"e"})
    gone = {(ENDPOINT, "e"): made(ENDPOINT, "e", 1)}
    variant = without(snapshot_of(now), {(CLUSTER, "a"): old}, lambda url, name: gone.get((url, name)), prune)
    assert versions(all_of(variant)) == versions({(CLUSTER, "a"): old, **gone})
    nothing = without(snapshot_of(now), {(CLUSTER, "a"): old}, lambda _url, _name: None, prune)
    assert all_of(nothing) == {}, "what it needs is not known, so it can't be used"


def test_who_needs_what_is_missing_goes_back_to_what_was_accepted_else_is_pruned() -> None:
    now = {
        (CLUSTER, "a"): made(CLUSTER, "a", 1),
        (CLUSTER, "b"): made(CLUSTER, "b", 1),
        (ROUTE, "r"): made(ROUTE, "r", 2, {"a", "b"}),
        (LISTENER, "l"): made(LISTENER, "l", 1, {"r"}),
    }
    accepted = made(ROUTE, "r", 1, {"a"})
    back = without(
        snapshot_of(now),
        {(CLUSTER, "b"): None},
        lambda url, name: accepted if (url, name) == (ROUTE, "r") else None,
        prune,
    )
    assert back.typeset(ROUTE).get("r") is accepted
    pruned = without(snapshot_of(now), {(CLUSTER, "b"): None}, lambda _url, _name: None, prune)
    assert [sorted(each.refs.clusters) for each in pruned.typeset(ROUTE)] == [["a"]]
    assert "l" in pruned.typeset(LISTENER)

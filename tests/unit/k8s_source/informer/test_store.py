"""The store, against the simplest one that could be: a plain dict that is searched."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, strategies as st

from k8s_source.informer.item import Change, Item, ItemKey, ItemMeta
from k8s_source.informer.store import Store

KEYS = st.builds(ItemKey, st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", "z"]))
ITEMS = st.builds(
    lambda key, uid, version, body: Item(key, ItemMeta(uid, version), body),
    KEYS,
    st.sampled_from(["1", "2"]),
    st.sampled_from(["10", "11", "12"]),
    st.sampled_from(["red", "green", ""]),
)
STEPS = st.one_of(
    st.tuples(st.just("put"), ITEMS),
    st.tuples(st.just("remove"), KEYS, st.sampled_from(["1", "2", ""])),
    st.tuples(st.just("replace"), st.sampled_from(["", "a", "b"]), st.lists(ITEMS, unique_by=lambda item: item.key)),
)


def colours(item: Item[str]) -> tuple[str, ...]:
    return (item.body,) if item.body else ()


@given(st.lists(STEPS), st.integers(0, 10))
def test_changes_lead_to_what_is_and_indexes_find_it(steps: list[tuple[object, ...]], indexed_after: int) -> None:
    store: Store[str] = Store()
    followed: dict[ItemKey, Item[str]] = {}
    for number, step in enumerate(steps):
        if number == indexed_after:
            store.add_index("colour", colours)
        for change in _taken(store, step):
            assert change.before == followed.pop(change.key, None)
            assert change.before or change.after
            assert change.before != change.after
            if change.after:
                followed[change.key] = change.after
    if len(steps) <= indexed_after:
        store.add_index("colour", colours)
    assert {item.key: item for item in store.items()} == followed
    assert len(store) == len(followed)
    for colour in ("red", "green", "blue"):
        expected = {key for key, item in followed.items() if item.body == colour}
        assert {item.key for item in store.by_index("colour", colour)} == expected


def _taken(store: Store[str], step: tuple[object, ...]) -> list[Change[str]]:
    match step:
        case ("put", Item() as item):
            return store.put(item)
        case ("remove", ItemKey() as key, str(uid)):
            return store.remove(key, uid)
        case ("replace", str(namespace), list(items)):
            inside = {item.key: item for item in items if namespace in {"", item.key.namespace}}
            changes = store.replace(namespace, inside)
            kept = {item.key for item in store.items() if namespace in {"", item.key.namespace}}
            assert kept == inside.keys()
            return changes
        case _:
            raise AssertionError(step)


ONE = Item(ItemKey("a", "x"), ItemMeta("1", "10"), "red")


def test_an_object_made_again_is_one_change() -> None:
    store: Store[str] = Store()
    store.put(ONE)
    again = replace(ONE, meta=ItemMeta("2", "11"))
    assert store.replace("", {ONE.key: again}) == [Change(ONE.key, ONE, again)]


def test_the_deletion_of_an_object_that_was_made_again_since_changes_nothing() -> None:
    store: Store[str] = Store()
    store.put(ONE)
    assert store.remove(ONE.key, "another") == []
    assert store.get(ONE.key) is ONE


def test_an_object_without_a_version_is_taken_each_time() -> None:
    store: Store[str] = Store()
    bare = replace(ONE, meta=ItemMeta("1", ""))
    store.put(bare)
    assert store.put(replace(bare, body="green"))

"""The store of one kind: what the API server has, by key and by any number of indexes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from k8s_source.informer.item import Change, Item, ItemKey, ItemMeta

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Index(Generic[T]):
    values: Callable[[Item[T]], Iterable[str]]
    keys: defaultdict[str, dict[ItemKey, None]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, item: Item[T]) -> None:
        for value in self.values(item):
            self.keys[value][item.key] = None

    def discard(self, item: Item[T]) -> None:
        for value in self.values(item):
            found = self.keys[value]
            found.pop(item.key, None)
            if not found:
                del self.keys[value]


class Store(Generic[T]):
    """Items by key. Readers see it change between two steps of the event loop only; its writer is the informer."""

    def __init__(self) -> None:
        self._items: dict[ItemKey, Item[T]] = {}
        self._indexes: dict[str, _Index[T]] = {}

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: ItemKey) -> Item[T] | None:
        """The item of a key."""
        return self._items.get(key)

    def items(self) -> Collection[Item[T]]:
        """All items: a view, good until the event loop runs on."""
        return self._items.values()

    def add_index(self, name: str, values: Callable[[Item[T]], Iterable[str]]) -> None:
        """Find items by any of the values that `values` gives for them; it must give the same for the same item."""
        index = self._indexes[name] = _Index(values)
        for item in self._items.values():
            index.add(item)

    def by_index(self, name: str, value: str) -> list[Item[T]]:
        """The items that have the value. Raises KeyError for an index that there is not."""
        return [self._items[key] for key in self._indexes[name].keys.get(value, ())]

    def put(self, item: Item[T]) -> list[Change[T]]:
        """Take an object as it is now; no change when it is known so already."""
        before = self._items.get(item.key)
        if before is not None and is_same(before.meta, item.meta):
            return []
        self._set(item.key, before, item)
        return [Change(item.key, before, item)]

    def remove(self, key: ItemKey, uid: str) -> list[Change[T]]:
        """Let go of an object. One of the same name that was made since is another one, and stays."""
        before = self._items.get(key)
        if before is None or (uid and before.meta.uid != uid):
            return []
        self._set(key, before, None)
        return [Change(key, before, None)]

    def replace(self, namespace: str, items: Mapping[ItemKey, Item[T]]) -> list[Change[T]]:
        """Take a whole list of a namespace, "" for all; the changes that make what was known into what is."""
        gone = [key for key in self._items if key not in items and namespace in {"", key.namespace}]
        changes = [change for key in gone for change in self.remove(key, "")]
        for item in items.values():
            changes += self.put(item)
        return changes

    def _set(self, key: ItemKey, before: Item[T] | None, after: Item[T] | None) -> None:
        for index in self._indexes.values():
            if before is not None:
                index.discard(before)
            if after is not None:
                index.add(after)
        if after is None:
            del self._items[key]
        else:
            self._items[key] = after


def is_same(one: ItemMeta, other: ItemMeta) -> bool:
    """Whether both are one object in one state. Resource versions are compared for equality only."""
    return one.uid == other.uid and one.resource_version == other.resource_version != ""

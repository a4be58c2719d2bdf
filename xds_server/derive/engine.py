"""The derivation engine: collections that are made of others, and follow each change at the price of what it touches.

The order in which collections are made is the order of derivation: one may read those before it only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from heapq import heappop, heappush
from operator import eq
from typing import Any, TypeVar

from xds_server.derive.collection import Collection, Derived, Edit, Fault, Input, K, Read, V
from xds_server.derive.derived import Each, Index, Many, Union

__all__ = ["Changes", "Collection", "Edit", "Engine", "Fault", "Input", "Read"]

K2 = TypeVar("K2", bound=Hashable)
V2 = TypeVar("V2")


class Changes:
    """What came of one update: the values that are not as before, the items that were made, and what failed."""

    def __init__(self) -> None:
        self.made: dict[str, int] = {}
        """How many items of each derived collection were made, by its name; those that came out equal too."""
        self.faults: list[Fault] = []
        self._changed: dict[Collection[Any, Any], dict[Any, Any]] = {}

    def of(self, collection: Collection[K, V]) -> Mapping[K, V | None]:
        """What is not as before in a collection: values by key, None for what is gone."""
        return self._changed.get(collection, {})

    def note(self, collection: Collection[K, V], changed: Mapping[K, V | None]) -> None:
        """Add the changes of a collection."""
        self._changed.setdefault(collection, {}).update(changed)


class Engine:
    """Makes collections, and takes changes of its inputs through all that is made of them.

    A maker is a pure function of what it is given and reads, and its values are compared by content: an item that comes
    out equal changes nothing else. From scratch and step by step give equal values, but for items whose maker failed
    by a fault of ours: they stay as they were (`Changes.faults`).
    """

    def __init__(self) -> None:
        self._collections: list[Collection[Any, Any]] = []
        self._due: list[int] = []
        self._changes = Changes()

    def input(self, name: str) -> Input[K, V]:
        """A collection that `update` changes."""
        return self._add(Input(name, len(self._collections)))

    def each(
        self,
        name: str,
        parent: Collection[K, V],
        make: Callable[[Read, K, V], V2 | None],
        same: Callable[[V2, V2], bool] = eq,
    ) -> Collection[K, V2]:
        """A collection with one item, or none, for each of the parent's; `same` tells when nothing has changed."""
        return self._add(Each(name, len(self._collections), parent, make, same))

    def many(
        self,
        name: str,
        parent: Collection[K, V],
        make: Callable[[Read, K, V], Mapping[K2, V2]],
        same: Callable[[V2, V2], bool] = eq,
    ) -> Collection[K2, V2]:
        """A collection with any number of items for each of the parent's. The keys of two of these never meet."""
        return self._add(Many(name, len(self._collections), parent, make, same))

    def index(
        self, name: str, parent: Collection[K, V], by: Callable[[K, V], Iterable[K2]]
    ) -> Collection[K2, tuple[K, ...]]:
        """The keys of the parent's items under the keys that `by` gives for each: sorted, never none."""
        return self._add(Index(name, len(self._collections), parent, by))

    def union(self, name: str, *parents: Collection[K, V]) -> Collection[K, V]:
        """All items of several collections. The keys of two of these never meet."""
        return self._add(Union(name, len(self._collections), *parents))

    def update(self, *edits: Edit) -> Changes:
        """Take changes of inputs in, and make anew what they touch; what came of it.

        What an update that failed has begun is ended, and told, by the next one.
        """
        changes = self._changes
        for collection, values in edits:
            self._spread(collection, collection.settle(values, eq), changes)
        while self._due:
            collection = self._collections[self._due[0]]
            if isinstance(collection, Derived):
                self._refresh(collection, changes)
            heappop(self._due)
        self._changes = Changes()
        return changes

    def _add(self, collection: _C) -> _C:
        self._collections.append(collection)
        if isinstance(collection, Derived):
            for parent in collection.parents:
                if parent.current:
                    self._soil(collection, parent.current)
        return collection

    def _refresh(self, collection: Derived[Any, Any], changes: Changes) -> None:
        changed, made = collection.refresh(), collection.dirty
        changes.made[collection.name] = len(made)
        changes.faults += [collection.faults[key] for key in made if key in collection.faults]
        collection.dirty = {}
        self._spread(collection, changed, changes)

    def _spread(self, collection: Collection[Any, Any], changed: Mapping[Any, Any], changes: Changes) -> None:
        """Note what has changed in a collection, and that what is made of it is to be made anew."""
        if not changed:
            return
        changes.note(collection, changed)
        for child in collection.children:
            self._soil(child, changed)
        for key in changed:
            for reader, item in collection.readers.get(key, ()):
                self._soil(reader, (item,))

    def _soil(self, collection: Derived[Any, Any], keys: Iterable[Any]) -> None:
        if not collection.dirty:
            heappush(self._due, collection.rank)
        collection.dirty.update(dict.fromkeys(keys))


_C = TypeVar("_C", bound=Collection[Any, Any])

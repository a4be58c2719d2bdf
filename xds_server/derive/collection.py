"""Collections: values by key, of which one is changed from outside or made of others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Item = tuple["Derived[Any, Any]", Any]
"""A collection, and the key of what it is made of there."""


class Collection(Generic[K, V]):
    """Values by key. They are frozen, and only the engine changes which of them are there."""

    def __init__(self, name: str, rank: int) -> None:
        """Make an empty collection; `rank` tells how many were made before it."""
        self.name = name
        self.rank = rank
        self.current: dict[K, V] = {}
        self.children: list[Derived[Any, Any]] = []
        self.readers: dict[K, dict[Item, None]] = {}

    @property
    def values(self) -> Mapping[K, V]:
        """What is there now; it follows what comes later."""
        return MappingProxyType(self.current)

    def settle(self, wanted: Mapping[K, V | None], same: Callable[[V, V], bool]) -> dict[K, V | None]:
        """Take values over, None for none; those that are not as before, which is what goes on from here."""
        changed: dict[K, V | None] = {}
        for key, after in wanted.items():
            before = self.current.get(key)
            if before is after or (before is not None and after is not None and same(before, after)):
                continue
            changed[key] = after
            if after is None:
                del self.current[key]
            else:
                self.current[key] = after
        return changed


class Read(Protocol):
    """How the maker of an item looks at other collections: what it asks for is noted, and makes it anew."""

    def __call__(self, collection: Collection[K, V], key: K, /) -> V | None:
        """The value under a key, None where there is none."""


class Edit(NamedTuple):
    """Changes of one input: values by key, None for one that goes away."""

    collection: Collection[Any, Any]
    values: Mapping[Any, Any]


class Input(Collection[K, V]):
    """A collection that is changed from outside."""

    def edit(self, values: Mapping[K, V | None]) -> Edit:
        """These changes, for `Engine.update`."""
        return Edit(self, values)


class Fault(NamedTuple):
    """An error of ours in making one item: it stays as it was, and is made anew when what it read changes."""

    collection: str
    key: Hashable
    error: Exception


class Derived(Collection[K, V]):
    """A collection that is made of the items of one parent, or of several, one by one."""

    def __init__(self, name: str, rank: int, *parents: Collection[Any, Any]) -> None:
        super().__init__(name, rank)
        self.parents = parents
        self.parent = parents[0]
        self.dirty: dict[Any, None] = {}
        self.faults: dict[Any, Fault] = {}
        self._reads: dict[Any, set[tuple[Collection[Any, Any], Any]]] = {}
        self._noted: set[tuple[Collection[Any, Any], Any]] = set()
        for parent in parents:
            parent.children.append(self)

    def refresh(self) -> dict[K, V | None]:
        """Make what is dirty anew; what is not as before."""
        raise NotImplementedError

    def read(self, collection: Collection[Any, Any], key: Any, /) -> Any:
        """Look at another collection, for the item that is being made.

        Raises:
            LookupError: the collection was made after this one, so it may not be up to date.
        """
        if collection.rank >= self.rank:
            raise LookupError(f"{self.name} reads {collection.name}, which is made after it")
        self._noted.add((collection, key))
        return collection.current.get(key)

    def attempt(self, key: Any, make: Callable[[], Any], otherwise: Any) -> Any:
        """Run the maker of an item and note what it reads; `otherwise` where it fails by a fault of ours."""
        self._noted = set()
        self.faults.pop(key, None)
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - a fault in one item must not stop all others; the engine tells it
            self.faults[key] = Fault(self.name, key, error)
            self._noted |= self._reads.get(key, set())
            return otherwise
        finally:
            self._note(key, self._noted)

    def forget(self, key: Any) -> None:
        """Forget an item whose parent is gone."""
        self.faults.pop(key, None)
        self._note(key, set())

    def _note(self, key: Any, noted: set[tuple[Collection[Any, Any], Any]]) -> None:
        before = self._reads.get(key, set())
        if before == noted:
            return
        for collection, read in before - noted:
            readers = collection.readers[read]
            del readers[self, key]
            if not readers:
                del collection.readers[read]
        for collection, read in noted - before:
            collection.readers.setdefault(read, {})[self, key] = None
        if noted:
            self._reads[key] = noted
        else:
            del self._reads[key]


Make = Callable[[Read, Any, Any], Any]
"""(read, key, the parent's value) → what is made of it."""

By = Callable[[Any, Any], Iterable[Any]]
"""(key, value) → the keys under which an index has it."""

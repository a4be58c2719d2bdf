"""The ways to derive a collection: item by item, one to many, by an index, and as all items of several others."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from functools import partial
from operator import eq, is_
from typing import Any

from xds_server.derive.collection import By, Collection, Derived, Fault, K, Make, V

_FEW = 8
"""Up to so many new members are put in their place one by one; more of them are sorted in."""


class Each(Derived[K, V]):
    """One item, or none, for each of the parent's."""

    def __init__(
        self, name: str, rank: int, parent: Collection[K, Any], make: Make, same: Callable[[V, V], bool]
    ) -> None:
        super().__init__(name, rank, parent)
        self._make = make
        self._same = same

    def refresh(self) -> dict[K, V | None]:
        """Make what is dirty anew; what is not as before."""
        wanted: dict[K, V | None] = {}
        for key in self.dirty:
            value = self.parent.current.get(key)
            if value is None:
                self.forget(key)
                wanted[key] = None
            else:
                make = partial(self._make, self.read, key, value)
                wanted[key] = self.attempt(key, make, self.current.get(key))
        return self.settle(wanted, self._same)


class Many(Derived[K, V]):
    """Any number of items for each of the parent's. Their keys never meet: of two that do, the first made stays."""

    def __init__(
        self, name: str, rank: int, parent: Collection[Any, Any], make: Make, same: Callable[[V, V], bool]
    ) -> None:
        super().__init__(name, rank, parent)
        self._make = make
        self._same = same
        self._made: dict[Any, tuple[K, ...]] = {}
        self._owners: dict[K, Any] = {}

    def refresh(self) -> dict[K, V | None]:
        """Make what is dirty anew; what is not as before."""
        made = {key: self._items(key) for key in self.dirty}
        wanted: dict[K, V | None] = {}
        # All leave before any comes: a key may go from one item to another.
        for key in made:
            for child in self._made.pop(key, ()):
                del self._owners[child]
                wanted[child] = None
        for key, items in made.items():
            free = {child: value for child, value in items.items() if self._owners.setdefault(child, key) == key}
            if len(free) < len(items):
                taken = [str(child) for child in items if child not in free]
                self.faults[key] = Fault(self.name, key, KeyError(f"made by others too: {', '.join(taken)}"))
            if free:
                self._made[key] = tuple(free)
                wanted.update(free)
        return self.settle(wanted, self._same)

    def _items(self, key: Any) -> Mapping[K, V]:
        value = self.parent.current.get(key)
        if value is None:
            self.forget(key)
            return {}
        before = {child: self.current[child] for child in self._made.get(key, ())}
        found: Mapping[K, V] = self.attempt(key, partial(self._make, self.read, key, value), before)
        return found


class Union(Derived[K, V]):
    """All items of several parents. Their keys never meet: of two that do, the first parent's is there."""

    def refresh(self) -> dict[K, V | None]:
        """Take over what is dirty; what is not the same one as before."""
        return self.settle({key: self._find(key) for key in self.dirty}, is_)

    def _find(self, key: K) -> V | None:
        return next((found for each in self.parents if (found := each.current.get(key)) is not None), None)


class Index(Derived[K, tuple[Any, ...]]):
    """The keys of the parent's items under other keys, sorted. It costs the members of the keys that are touched."""

    def __init__(self, name: str, rank: int, parent: Collection[Any, Any], by: By) -> None:
        super().__init__(name, rank, parent)
        self._by = by
        self._under: dict[Any, tuple[K, ...]] = {}

    def refresh(self) -> dict[K, tuple[Any, ...] | None]:
        """Put what is dirty under its keys; those whose members are not as before."""
        gone: dict[K, list[Any]] = {}
        come: dict[K, list[Any]] = {}
        for member in self.dirty:
            before, after = self._under.get(member, ()), self._keys(member)
            if after:
                self._under[member] = after
            else:
                self._under.pop(member, None)
            for key in before:
                if key not in after:
                    gone.setdefault(key, []).append(member)
            for key in after:
                if key not in before:
                    come.setdefault(key, []).append(member)
        wanted = {key: self._members(key, gone.get(key, []), come.get(key, [])) for key in gone | come}
        return self.settle(wanted, eq)

    def _keys(self, member: Any) -> tuple[K, ...]:
        value = self.parent.current.get(member)
        if value is None:
            self.forget(member)
            return ()
        before = self._under.get(member, ())
        found: tuple[K, ...] = self.attempt(member, lambda: tuple(dict.fromkeys(self._by(member, value))), before)
        return found

    def _members(self, key: K, gone: list[Any], come: list[Any]) -> tuple[Any, ...] | None:
        members = list(self.current.get(key, ()))
        if len(gone) + len(come) > _FEW:
            return tuple(sorted([*(set(members) - set(gone)), *come])) or None
        for member in gone:
            del members[bisect_left(members, member)]
        for member in come:
            insort(members, member)
        return tuple(members) or None

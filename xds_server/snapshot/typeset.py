"""A typeset: all resources of one type, immutable, with a version made of content and cheap differences.

A typeset that follows from another one remembers what changed in a log that both share, so that the
difference between neighbours costs what changed, not what exists.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

from cachetools import LRUCache

from xds_server.ir.refs import NO_NAMES, Refs, merged
from xds_server.wire.resource import Resource

_DIGEST_BITS = (1 << 256) - 1
_LOG_LENGTH = 512

_SHARED_BYTES = 128 * 1024 * 1024
"""Room for what streams share of one typeset: some whole answers of the largest configurations."""

_VARIANTS_MEMBERS = 1_000_000
"""How many members the variants of one typeset may have together: a variant costs some 100 bytes for each."""

_OVERHEAD = 200

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Difference:
    """What must be sent (`changed`: new or other content) and taken away (`removed`) to get from one to the other.

    Both in the order of names.
    """

    changed: tuple[Resource, ...]
    removed: tuple[str, ...]


class _Log:
    """The changes of a line of typesets: entry n holds the names that differ between number n and n + 1.

    One thread appends while others read.
    """

    __slots__ = ("_lock", "entries", "first")

    def __init__(self) -> None:
        self.entries: deque[frozenset[str]] = deque()
        self.first = 0
        self._lock = Lock()

    def append(self, names: frozenset[str]) -> int:
        with self._lock:
            self.entries.append(names)
            if len(self.entries) > _LOG_LENGTH:
                self.entries.popleft()
                self.first += 1
            return self.first + len(self.entries)

    def between(self, older: int, newer: int) -> set[str] | None:
        found: set[str] = set()
        with self._lock:
            if older < self.first:
                return None
            for number in range(older, newer):
                found |= self.entries[number - self.first]
        return found


class Typeset:
    """All resources of one type that a group (or, as a variant, one node for a while) is to have.

    `version` is what `version_info` and `system_version_info` carry. What is derived from a typeset is remembered
    for all streams, as long as there is room for it, until a newer typeset takes over and this one is retired.
    """

    def __init__(self, type_url: str, resources: dict[str, Resource], total: int | None = None) -> None:
        self.type_url = type_url
        self.resources = resources
        self._shared: LRUCache[Hashable, tuple[Any, int]] = LRUCache(_SHARED_BYTES, lambda entry: entry[1])
        self._variants: LRUCache[Hashable, Typeset] = LRUCache(_VARIANTS_MEMBERS, lambda variant: len(variant) + 1)
        self._is_retired = False
        self._start: Typeset | None = None
        self._total = sum(each.digest for each in resources.values()) & _DIGEST_BITS if total is None else total
        self._log = _Log()
        self._number = 0
        # None for itself: a reference to itself would keep it, and all its bytes, until the collector comes by.
        self._varied: Typeset | None = None
        self._overlay = NO_NAMES
        self._unknown: frozenset[str] | None = None

    @cached_property
    def version(self) -> str:
        """32 hex digits made of the names and versions of the members, whatever their order or history."""
        return f"{(self._total ^ (self._total >> 128)) & ((1 << 128) - 1):032x}"

    @cached_property
    def uses(self) -> Refs:
        """Everything that the members refer to."""
        return merged(*(resource.refs for resource in self.resources.values() if resource.refs))

    @property
    def unknown(self) -> frozenset[str]:
        """The names of members of which it is not known for sure what their content is."""
        if self._unknown is None:
            self._unknown = frozenset(each.name for each in self if not each.is_known) or NO_NAMES
        return self._unknown

    @property
    def _root(self) -> Typeset:
        """The typeset that this one is a variant of, itself if it is none."""
        return self if self._varied is None else self._varied

    def __len__(self) -> int:
        return len(self.resources)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self.resources.values())

    def __contains__(self, name: str) -> bool:
        return name in self.resources

    def get(self, name: str) -> Resource | None:
        """The resource of that name, None if there is none."""
        return self.resources.get(name)

    def version_of(self, name: str) -> str | None:
        """The version of the resource of that name, None if there is none."""
        resource = self.resources.get(name)
        return None if resource is None else resource.version

    def evolve(self, changes: Mapping[str, Resource | None]) -> Typeset:
        """The typeset after these changes (None removes); itself when nothing is other than before.

        Meant for the newest of a line: a second successor of the same typeset starts a line of its own. Content that
        is declared elsewhere now, and is the same, stays, and tells where it is declared.
        """
        self._relocate(changes)
        real = self._real(changes)
        if not real:
            return self
        successor = self._changed(real)
        for name, new in real.items():
            old = self.resources.get(name)
            if old is not None and new is not None:
                new.make_ready_like(old)
        if self._varied is None and self._number == self._log.first + len(self._log.entries):
            successor._log = self._log
            successor._number = self._log.append(frozenset(real))
            successor.since(self)  # It is what streams will ask for; they find it ready.
        return successor

    def overlay(self, changes: Mapping[str, Resource | None]) -> Typeset:
        """A variant of this typeset for a node that must not have all of it yet; shared by all that need the same."""
        real = self._real(changes)
        if not real:
            return self
        key = ("overlay", frozenset((name, _identity(new)) for name, new in real.items()))
        variant: Typeset | None = self._variants.get(key)
        if variant is None:
            variant = self._changed(real)
            variant._varied = self._root
            variant._overlay = self._overlay | frozenset(real)
            variant._is_retired = self._is_retired
            if len(variant) < _VARIANTS_MEMBERS:
                self._variants[key] = variant
        return variant

    def since(self, older: Typeset) -> Difference:
        """What differs from `older`; remembered, since a fleet asks the same again and again."""
        if older is self:
            return _NOTHING
        return self.shared(("since", older), lambda: _sized(self.compare(older)))

    def shared(self, key: Hashable, make: Callable[[], tuple[T, int]]) -> T:
        """What `make` made for that key, and its size in bytes, as long as there is room for it and no newer typeset.

        Streams that ask for the same share it; of those that all ask for something else not all is kept.
        """
        entry: tuple[T, int] | None = self._shared.get(key)
        if entry is None:
            entry = make()
            # Keys hold other typesets, so what is retired remembers nothing: it would keep all before it alive.
            if entry[1] <= _SHARED_BYTES and not self._is_retired:
                self._shared[key] = entry
        return entry[0]

    def nothing(self) -> Typeset:
        """The empty typeset of all who have nothing of this one yet; one for all, so that they share what they get."""
        if self._start is None:
            self._start = empty(self.type_url)
        return self._start

    def retire(self) -> None:
        """Forget what was derived from this typeset, and remember no more of it; called when a newer one is served.

        Variants are still shared: streams that lag behind may need the same.
        """
        self._is_retired = True
        self._shared.clear()
        variants = list(self._variants.values())
        self._variants.clear()
        for variant in variants:
            variant.retire()

    def _relocate(self, changes: Mapping[str, Resource | None]) -> None:
        for name, new in changes.items():
            old = self.resources.get(name)
            if old is not None and new is not None and old.version == new.version:
                old.origins = new.origins

    def _real(self, changes: Mapping[str, Resource | None]) -> dict[str, Resource | None]:
        return {name: new for name, new in changes.items() if _identity(new) != _identity(self.get(name))}

    def _changed(self, changes: Mapping[str, Resource | None]) -> Typeset:
        resources = dict(self.resources)
        total = self._total
        for name, new in changes.items():
            old = resources.get(name)
            if old is not None:
                total -= old.digest
            if new is not None:
                resources[name] = new
                total += new.digest
            elif old is not None:
                del resources[name]
        changed = Typeset(self.type_url, resources, total & _DIGEST_BITS)
        unknown = {name for name, new in changes.items() if new is not None and not new.is_known}
        changed._unknown = (self.unknown - changes.keys()) | unknown or NO_NAMES
        return changed

    def compare(self, older: Typeset) -> Difference:
        """What differs from `older`, worked out anew: for other threads than the event loop's, and for once."""
        changed: list[Resource] = []
        removed: list[str] = []
        for name in self._candidates(older):
            new = self.resources.get(name)
            if new is None:
                if name in older.resources:
                    removed.append(name)
            elif older.version_of(name) != new.version:
                changed.append(new)
        return Difference(tuple(changed), tuple(removed))

    def _candidates(self, older: Typeset) -> Iterable[str]:
        new_root, old_root = self._root, older._root
        if new_root._log is old_root._log and old_root._number <= new_root._number:
            logged = new_root._log.between(old_root._number, new_root._number)
            if logged is not None:
                return sorted(logged | self._overlay | older._overlay)
        return sorted(self.resources.keys() | older.resources.keys())


_NOTHING = Difference((), ())


def _sized(difference: Difference) -> tuple[Difference, int]:
    """A difference and about how many bytes it holds beside resources that are there anyway."""
    return difference, _OVERHEAD + 8 * (len(difference.changed) + len(difference.removed))


def _identity(resource: Resource | None) -> tuple[str, type] | None:
    """What tells contents apart: the version, and whether there is a content at all or only word of one."""
    return None if resource is None else (resource.version, type(resource))


def differing(newer: Typeset, older: Typeset) -> list[str]:
    """The names of which one has something other than the other."""
    difference = newer.since(older)
    return [*(resource.name for resource in difference.changed), *difference.removed]


def empty(type_url: str) -> Typeset:
    """A new typeset without members."""
    return Typeset(type_url, {})

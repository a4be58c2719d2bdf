"""What a reconciler remembers of its own writes, until the informer has seen them: never what is true of an object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from k8s_source.informer.item import Item, ItemKey
from k8s_source.reconcile.status import Written


@dataclass(slots=True)
class _Kept:
    """`newest` is the resourceVersion that the last write made: until the informer has that, what was written counts."""

    uid: str
    last_write: float
    newest: str = ""
    status: Written | None = None
    is_held: bool = False
    passing_since: float | None = None


class Memory:
    """By object."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives seconds and never goes back."""
        self._clock = clock
        self._kept: dict[ItemKey, _Kept] = {}

    def forget(self, key: ItemKey) -> None:
        """The object is gone."""
        self._kept.pop(key, None)

    def status(self, item: Item[object]) -> Written | None:
        """The status that was written since the informer saw the object; None where it has seen that."""
        return self._of(item).status

    def is_held(self, item: Item[object]) -> bool:
        """Whether our finalizer was added since the informer saw the object."""
        return self._of(item).is_held

    def wrote(self, item: Item[object], status: Written, version: str) -> None:
        """Note that a status was written, and which resourceVersion that made."""
        kept = self._of(item)
        kept.status, kept.newest, kept.last_write = status, version, self._clock()

    def held(self, item: Item[object], version: str) -> None:
        """Note that our finalizer was added, and which resourceVersion that made."""
        kept = self._of(item)
        kept.is_held, kept.newest = True, version

    def last_write(self, item: Item[object]) -> float:
        """When the status was last written by this process; when the object was first looked at, if it never was."""
        return self._of(item).last_write

    def passing_since(self, item: Item[object], now: float | None) -> float:
        """Since when what differs may pass; None as `now`: it does not, and the next time begins anew."""
        kept = self._of(item)
        if now is None or kept.passing_since is None:
            kept.passing_since = now
        return kept.passing_since or 0.0

    def _of(self, item: Item[object]) -> _Kept:
        kept = self._kept.get(item.key)
        if kept is None or kept.uid != item.meta.uid:
            kept = self._kept[item.key] = _Kept(item.meta.uid, self._clock())
        elif kept.newest and not _is_older(item.meta.resource_version, kept.newest):
            kept.newest, kept.status, kept.is_held = "", None, False
        return kept


def _is_older(version: str, other: str) -> bool:
    """Whether a resourceVersion is older; where they are no numbers, that can't be told, and it counts as newer.

    Those of one resource can be compared as numbers (KEP-5504, "Comparable Resource Version").
    """
    return version.isdecimal() and other.isdecimal() and int(version) < int(other)

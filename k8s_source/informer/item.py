"""Items: one object of the API server, as much of it as is kept, and how it changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T_co = TypeVar("T_co", covariant=True)


class ItemKey(NamedTuple):
    """An object within its resource; the namespace is "" where the resource has none."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class ItemMeta:
    """What is kept of `metadata` of any kind. `deleted` is the deletionTimestamp, "" while nobody wants it gone."""

    uid: str
    resource_version: str
    generation: int = 0
    created: str = ""
    deleted: str = ""
    finalizers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item(Generic[T_co]):
    """One object; `body` is what the kind's `parse` made of its bytes."""

    key: ItemKey
    meta: ItemMeta
    body: T_co


@dataclass(frozen=True, slots=True)
class Change(Generic[T_co]):
    """What became of one object: None before for a new one, None after for one that is gone.

    An object that was deleted and made again under its name meanwhile is one change, with two uids.
    """

    key: ItemKey
    before: Item[T_co] | None
    after: Item[T_co] | None

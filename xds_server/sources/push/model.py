"""The words of the push source: what an owner says, what is in force, and why something is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xds_server.ir.declared import EncodedDocument
from xds_server.ir.problem import Problem

Name = tuple[str, str]
"""(type URL, name) of a resource of a group."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Whose set, and of which group."""

    owner: str
    group: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.group}"


@dataclass(frozen=True, slots=True)
class Push:
    """What an owner says of its set, once its resources are decoded.

    `lease` is in seconds, 0 for none; None: no lease (when the set is replaced), the one that it has (when it is
    changed). `base` is the version that a change builds on, None for any.
    """

    version: str
    resources: Sequence[EncodedDocument] = ()
    removed: Sequence[Name] = ()
    lease: float | None = None
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What an owner says, as it came: each resource as JSON text with `@type`, or as type URL and bytes.

    `remove` has pairs of type (short key or URL) and name; `lease` and `base` are as in `Push`.
    """

    version: str
    resources: Sequence[str | tuple[str, bytes]] = ()
    remove: Sequence[Name] = ()
    lease: float | None = None
    base: str | None = None


@dataclass(slots=True)
class PushedSet:
    """A set that is in force, `counts` its resources by type URL. `expires` is a moment of the book's clock.

    `lacking` names those that were restored without their bytes.
    """

    version: str
    resources: dict[Name, EncodedDocument] = field(default_factory=dict)
    lease: float | None = None
    expires: float | None = None
    counts: Counter[str] = field(default_factory=Counter)
    lacking: set[Name] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Changed:
    """What a request, or the end of a lease, has done to a set.

    `before` is the version that was in force, None where there was no set. `pushed` is None when the set is gone.
    `is_new` is false when the version was in force already.
    """

    place: Place
    before: str | None
    pushed: PushedSet | None
    set: Mapping[Name, EncodedDocument] = field(default_factory=dict)
    removed: Sequence[Name] = ()
    is_new: bool = True

    @property
    def types(self) -> frozenset[str]:
        """The type URLs of all that is in the set, or was until now."""
        counts = self.pushed.counts if self.pushed is not None else Counter[str]()
        return frozenset(+counts) | {url for url, _ in self.removed}


@dataclass(frozen=True, slots=True)
class Settled:
    """How far a change has come: see `Outcome.snapshot` and `Outcome.stored`."""

    snapshot: tuple[str, int] | None = None
    stored: bool | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an owner is answered: what changed, and how the set fares.

    `counts` has its resources by type URL. `expires` is in POSIX seconds. `snapshot` is version and seq of what the
    group is served with the change in it, None while that is not known; `stored` whether the change is on disk, None
    where nothing is stored. `problems` tells what of the set is not served.
    """

    changed: Changed
    counts: Mapping[str, int]
    lease: float | None
    expires: float | None
    snapshot: tuple[str, int] | None
    stored: bool | None
    problems: Sequence[Problem]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many sets there may be, and how many resources in all of them."""

    sets: int = 1_000
    resources: int = 200_000


@dataclass(frozen=True, slots=True)
class Conflict:
    """A name that another owner holds; `index` is the place in the request, from 0."""

    name: Name
    holder: str
    index: int


class PushError(Exception):
    """A request that is refused; nothing has changed."""


class InvalidError(PushError):
    """Something in the request is wrong: each problem tells the field. `in_resources`: at least one is in a resource."""

    def __init__(self, problems: Sequence[Problem], *, in_resources: bool) -> None:
        super().__init__("; ".join(f"{each.field}: {each.message}" for each in problems[:3]))
        self.problems = problems
        self.in_resources = in_resources


class ConflictError(PushError):
    """Other owners hold names of the request."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} of the names are held by other owners; nothing of the request was taken")
        self.conflicts = conflicts


class BaseError(PushError):
    """The request builds on a version that is not in force; `current` is the one that is, None where there is no set."""

    def __init__(self, base: str, current: str | None) -> None:
        there = "there is no set" if current is None else f"version {current!r} is in force"
        super().__init__(f"the change builds on version {base!r}, but {there}")
        self.current = current


class LimitError(PushError):
    """There would be too much."""


class NoSetError(PushError):
    """There is no such set."""

    def __init__(self, place: Place) -> None:
        super().__init__(f"owner {place.owner!r} has no set for group {place.group!r}")

"""A snapshot: one consistent version of everything that a group is served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from weakref import WeakValueDictionary

from xds_server.ir.origin import Origin
from xds_server.snapshot.typeset import Typeset, empty

_NOT_STORED = (
    "it holds a secret, and was restored without its content (history.secrets): clients that have it keep it,"
    " others get it once its source has been read"
)

_absent: WeakValueDictionary[str, Typeset] = WeakValueDictionary()
"""The empty typesets of types that nobody declares, as long as some stream holds them: clients may ask for any type."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A declared resource that is not served as declared, and why.

    `reason` is a CamelCase word: Invalid, NoAssignment, NoCluster, NoRoute, NoSecret, DuplicateName,
    StillReferenced, RefusedByEnvoy, NotStored. `partial` tells that a part of what is declared is served.
    """

    type_url: str
    name: str
    reason: str
    message: str
    origins: tuple[Origin, ...] = ()
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What made a snapshot: the source's name and what changed in it (a file, an object)."""

    source: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True)
class Hold:
    """A rollback that holds: the version gone back to and its seq, by whom, why, and since when (POSIX seconds)."""

    to: str
    seq: int
    by: str
    reason: str
    since: float


@dataclass(frozen=True, slots=True)
class Behind:
    """That a group is not served what is declared: the version that it would be, and the switch that keeps it back.

    `reason` is ReadOnly or Frozen, `message` says who set the switch, and why.
    """

    version: str
    reason: str
    message: str


@dataclass(frozen=True)
class Snapshot:
    """An immutable, self-consistent set of resources of one group.

    `seq` rises by one with each publish of the group; `created` is POSIX seconds. Types without resources may
    be missing from `types`. `held` tells of the rollback that it was published under, `whole` is the snapshot that this
    one is a variant of, for streams that lack some of it.
    """

    group: str
    seq: int
    created: float
    types: Mapping[str, Typeset] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    origin: Change = Change()
    held: Hold | None = None
    whole: Snapshot | None = field(default=None, repr=False, compare=False)

    @cached_property
    def version(self) -> str:
        """32 hex digits made of the versions of all types; equal content has an equal version."""
        content = "\0".join(f"{url}={typeset.version}" for url, typeset in sorted(self.types.items()) if len(typeset))
        return blake2b(content.encode(), digest_size=16).hexdigest()

    @cached_property
    def unserved(self) -> tuple[LeftOut, ...]:
        """`left_out`, and what can't be sent since its bytes were not stored. That is no content: it makes no new seq."""
        not_stored = (
            LeftOut(url, name, "NotStored", _NOT_STORED, typeset.resources[name].origins)
            for url, typeset in self.types.items()
            for name in typeset.unknown
        )
        return tuple(sorted([*self.left_out, *not_stored], key=lambda each: (each.type_url, each.name)))

    @cached_property
    def makers(self) -> frozenset[tuple[str, str, str]]:
        """The objects that anything of it was made of: kind, namespace, name."""
        return frozenset(
            (origin.kind, origin.namespace, origin.name)
            for typeset in self.types.values()
            for resource in typeset.resources.values()
            for origin in resource.origins
        )

    @property
    def held_seq(self) -> int | None:
        """The seq of the version that the group is held at: history keeps it, however old it is."""
        return self.held.seq if self.held is not None else None

    def typeset(self, type_url: str) -> Typeset:
        """All resources of that type; an empty typeset (the same one for all snapshots) where there are none."""
        found = self.types.get(type_url)
        if found is None:
            found = _absent.get(type_url)
        if found is None:
            found = _absent[type_url] = empty(type_url)
        return found

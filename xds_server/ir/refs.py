"""Which other resources a resource names: what the closure check and the sequencer reason about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NO_NAMES: frozenset[str] = frozenset()
"""The one empty set of names: there are many, and Python makes each time a new one."""


@dataclass(frozen=True, slots=True)
class Refs:
    """Names that a resource needs from this control plane (over ADS or `self`), by kind of target.

    References to things that come by another way (a static cluster, a path config source) are not in it.
    """

    clusters: frozenset[str] = NO_NAMES
    assignments: frozenset[str] = NO_NAMES
    routes: frozenset[str] = NO_NAMES
    secrets: frozenset[str] = NO_NAMES

    def __bool__(self) -> bool:
        """True when anything is referred to."""
        return self is ANYTHING or bool(self.clusters or self.assignments or self.routes or self.secrets)


NO_REFS = Refs()


class _AnyName(frozenset[str]):
    """The set of all names: it can be asked, not listed."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return True


ANYTHING = Refs(_AnyName(), _AnyName(), _AnyName(), _AnyName())
"""What a content may refer to of which nothing is known."""


def merged(*refs: Refs) -> Refs:
    """All that any of them refers to."""
    if any(each is ANYTHING for each in refs):
        return ANYTHING
    return Refs(
        _union(each.clusters for each in refs),
        _union(each.assignments for each in refs),
        _union(each.routes for each in refs),
        _union(each.secrets for each in refs),
    )


def _union(names: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*names) or NO_NAMES

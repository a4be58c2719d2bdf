"""Which other resources a resource names: what the closure check and the sequencer reason about."""

from __future__ import annotations

from dataclasses import dataclass

NO_NAMES: frozenset[str] = frozenset()


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
        return bool(self.clusters or self.assignments or self.routes or self.secrets)


NO_REFS = Refs()

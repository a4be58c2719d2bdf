"""Seeds: what is known of each place from before this process, until the place itself speaks.

After a start a catalog knows of nothing. With seeds in it, as if the places that they came from had declared them, what
is broken keeps its last good content, and nothing is taken for deleted before its source has handed over all that it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic

from xds_server.ir.declared import Unit
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.snapshot.catalog import Catalog
from xds_server.snapshot.compile import K, T
from xds_server.snapshot.places import NOBODY, place_of, places_of

NOTHING_DECLARED = "NothingDeclared"
"""The problem of a source that is taken for one that is not there yet."""

_SEED = "\0"
"""Begins the keys of seeds: no source can have such a place."""


class Seeds(Generic[K, T]):
    """The seeds that are in a catalog, by rank of their source; each place takes over from its own."""

    def __init__(self, catalog: Catalog[K, T]) -> None:
        self._catalog = catalog
        self._left: dict[int, dict[str, int]] = {}

    def plant(self, members: Iterable[tuple[Origin, K, T]], ranks: Mapping[str, int]) -> set[K]:
        """Put these in the catalog, each with where it was declared; the keys that this touches.

        `ranks` has the sources that there are, by name.
        """
        found: dict[int, dict[str, dict[K, T]]] = {}
        for origin, key, member in members:
            places = found.setdefault(ranks.get(origin.source, NOBODY), {})
            places.setdefault(place_of(origin), {})[key] = member
        touched: set[K] = set()
        for rank, places in found.items():
            for place, declared in places.items():
                touched |= self._catalog.put(rank, _SEED + place, declared)
                self._left.setdefault(rank, {})[place] = len(declared)
        return touched

    def has(self, rank: int, unit: Unit) -> bool:
        """Whether anything is known from before of what a unit stands for."""
        left = self._left.get(rank, {})
        return any(place in left for place in places_of(unit))

    def hand_over(self, rank: int, units: Mapping[str, Unit | None]) -> set[K]:
        """Before units are taken in, have each of them take over from its seeds; the keys that this touches."""
        touched: set[K] = set()
        left = self._left.get(rank)
        if not left:
            return touched
        for key, unit in units.items():
            for place in places_of(unit) if unit is not None else ():
                if left.pop(place, None) is not None:
                    touched |= self._catalog.move(rank, _SEED + place, key)
        return touched

    def drop(self, rank: int, units: Mapping[str, Unit | None]) -> set[K]:
        """After units are taken in, drop the seeds of places that are gone; the keys that this touches.

        A source that has declared nothing at all is taken for one that is not there yet: its seeds stay.
        """
        touched: set[K] = set()
        if any(
            unit is not None and (unit.documents or unit.objects or unit.problems or unit.broken)
            for unit in units.values()
        ):
            for gone in (rank, NOBODY):
                for place in self._left.pop(gone, ()):
                    touched |= self._catalog.remove(gone, _SEED + place)
        return touched

    def awaited(self, rank: int) -> int:
        """How many members stand as they were until this source has declared anything."""
        return sum(self._left.get(rank, {}).values())


def nothing_declared(source: str, awaited: int) -> Problem:
    """What is told of a source of which so many resources are served until it has declared anything."""
    message = (
        f"nothing is declared here, but {awaited} resources of the last known good are: they are served until"
        " something is declared"
    )
    return Problem(Origin(source), NOTHING_DECLARED, message)

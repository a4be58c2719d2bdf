"""Seeds: what the last known good has of each place, until the place itself speaks.

After a start the catalog knows of nothing. With the resources of the last good snapshots in it, as if the places that
they came from had declared them, what is broken keeps its last good content, and nothing is taken for deleted before
its source has handed over all that it has. What was derived is no source's: see `Derivation.plant`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xds_server.ir.declared import Unit
from xds_server.ir.origin import Origin
from xds_server.snapshot.catalog import Catalog
from xds_server.snapshot.compile import Address
from xds_server.snapshot.derivation import is_derived
from xds_server.snapshot.places import NOBODY, place_of, places_of
from xds_server.snapshot.snapshot import Snapshot
from xds_server.wire.resource import Resource

_SEED = "\0"
"""Begins the keys of seeds: no source can have such a place."""


class Seeds:
    """The seeds that are in a catalog, by rank of their source; each place takes over from its own."""

    def __init__(self, catalog: Catalog[Address, Resource]) -> None:
        self._catalog = catalog
        self._left: dict[int, dict[str, int]] = {}

    def plant(self, snapshots: Iterable[Snapshot], ranks: Mapping[str, int]) -> None:
        """Put what these snapshots hold in the catalog; `ranks` has the sources that there are, by name."""
        found: dict[int, dict[str, dict[Address, Resource]]] = {}
        for snapshot in snapshots:
            for typeset in snapshot.types.values():
                for resource in typeset:
                    if is_derived(resource):
                        continue
                    origin = resource.origins[0] if resource.origins else Origin("")
                    places = found.setdefault(ranks.get(origin.source, NOBODY), {})
                    address = (snapshot.group, resource.type_url, resource.name)
                    places.setdefault(place_of(origin), {})[address] = resource
        for rank, places in found.items():
            for place, resources in places.items():
                self._catalog.put(rank, _SEED + place, resources)
                self._left.setdefault(rank, {})[place] = len(resources)

    def hand_over(self, rank: int, units: Mapping[str, Unit | None]) -> set[Address]:
        """Before units are taken in, have each of them take over from its seeds; the addresses that this touches."""
        touched: set[Address] = set()
        left = self._left.get(rank)
        if not left:
            return touched
        for key, unit in units.items():
            for place in places_of(unit) if unit is not None else ():
                if left.pop(place, None) is not None:
                    touched |= self._catalog.move(rank, _SEED + place, key)
        return touched

    def drop(self, rank: int, units: Mapping[str, Unit | None]) -> set[Address]:
        """After units are taken in, drop the seeds of places that are gone; the addresses that this touches.

        A source that has declared nothing at all is taken for one that is not there yet: its seeds stay.
        """
        touched: set[Address] = set()
        if any(
            unit is not None and (unit.documents or unit.objects or unit.problems or unit.broken)
            for unit in units.values()
        ):
            for gone in (rank, NOBODY):
                for place in self._left.pop(gone, ()):
                    touched |= self._catalog.remove(gone, _SEED + place)
        return touched

    def awaited(self, rank: int) -> int:
        """How many resources are served as they were until this source has declared anything."""
        return sum(self._left.get(rank, {}).values())

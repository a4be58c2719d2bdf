"""The catalog: all that is declared, by whom, and who holds a name that several claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from xds_server.ir.problem import Problem
from xds_server.snapshot.compile import Address, CompiledUnit, duplicate
from xds_server.wire.resource import Resource

Place = tuple[int, str]
"""(rank of the source, key of the unit): places in this order decide who keeps a name."""


@dataclass(slots=True)
class _Unit:
    resources: dict[Address, Resource] = field(default_factory=dict)
    invalid: dict[Address, Problem] = field(default_factory=dict)
    duplicates: dict[Address, Problem] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


class Catalog:
    """Resources by address and place. What it costs to change one does not grow with how many there are."""

    def __init__(self) -> None:
        self._units: dict[Place, _Unit] = {}
        self._claims: dict[Address, dict[Place, Resource]] = {}
        self._contested: set[Address] = set()
        self._troubled: set[Place] = set()
        self._objects: dict[int, Counter[str]] = {}

    def replace(self, rank: int, compiled: CompiledUnit) -> set[Address]:
        """Take over what a place declares now; the addresses that this touches.

        What can't be read keeps its last good content: a broken unit as a whole, an invalid document alone, and
        whatever is missing beside a document that does not even tell its name.
        """
        place = (rank, compiled.key)
        old = self._units.get(place, _Unit())
        if compiled.broken:
            self._put(place, _Unit(old.resources, old.invalid, old.duplicates, tuple(compiled.problems)))
            return set()
        stay = old.resources.keys() if compiled.nameless else old.resources.keys() & compiled.invalid.keys()
        resources = {address: old.resources[address] for address in stay} | compiled.resources
        self._put(place, _Unit(resources, compiled.invalid, compiled.duplicates, tuple(compiled.problems)))
        troubles = old.invalid.keys() | compiled.invalid.keys() | old.duplicates.keys() | compiled.duplicates.keys()
        return self._claim(place, old.resources, resources) | troubles

    def put(self, rank: int, key: str, resources: dict[Address, Resource]) -> set[Address]:
        """Take over what a place is known to have declared; the addresses that this touches."""
        self._put((rank, key), _Unit(resources))
        return self._claim((rank, key), {}, resources)

    def move(self, rank: int, key: str, to: str) -> set[Address]:
        """Have another place stand for what a place declared; the addresses that this touches."""
        unit = self._units.get((rank, key), _Unit())
        return self.remove(rank, key) | self.put(rank, to, unit.resources)

    def remove(self, rank: int, key: str) -> set[Address]:
        """Forget a place; the addresses that this touches."""
        place = (rank, key)
        old = self._units.pop(place, _Unit())
        self._troubled.discard(place)
        return self._claim(place, old.resources, {}) | old.invalid.keys() | old.duplicates.keys()

    def holder(self, address: Address) -> Resource | None:
        """The resource that holds an address: the one of the first place."""
        claims = self._claims.get(address)
        return claims[min(claims)] if claims else None

    def problems(self, rank: int) -> list[Problem]:
        """All standing problems of a source in the order of its units, names lost to others at the end."""
        found: list[Problem] = []
        for place in sorted(self._troubled):
            if place[0] == rank:
                unit = self._units[place]
                found += [*unit.problems, *unit.duplicates.values()]
        return found + [problem for place, _, problem in self._lost() if place[0] == rank]

    def objects(self, rank: int) -> dict[str, int]:
        """How many resources of which kind a source declares."""
        return dict(sorted((+self._objects.get(rank, Counter())).items()))

    def rejected(self) -> Iterator[tuple[Address, Problem]]:
        """The documents that are not served because they are invalid or their name is taken."""
        for place in sorted(self._troubled):
            unit = self._units[place]
            yield from unit.invalid.items()
            yield from unit.duplicates.items()
        for _, address, problem in self._lost():
            yield address, problem

    def _lost(self) -> Iterator[tuple[Place, Address, Problem]]:
        for address in sorted(self._contested):
            claims = self._claims[address]
            winner = min(claims)
            for place in sorted(claims):
                if place != winner:
                    yield place, address, duplicate(address[0], claims[winner], claims[place])

    def _put(self, place: Place, unit: _Unit) -> None:
        self._units[place] = unit
        if unit.problems or unit.invalid or unit.duplicates:
            self._troubled.add(place)
        else:
            self._troubled.discard(place)

    def _claim(self, place: Place, old: dict[Address, Resource], new: dict[Address, Resource]) -> set[Address]:
        touched = set()
        counts = self._objects.setdefault(place[0], Counter())
        for address in old.keys() | new.keys():
            before, after = old.get(address), new.get(address)
            if before is after:
                continue
            touched.add(address)
            counts[address[1].rpartition(".")[2]] += (after is not None) - (before is not None)
            claims = self._claims.setdefault(address, {})
            if after is None:
                del claims[place]
            else:
                claims[place] = after
            self._note_contest(address, claims)
        return touched

    def _note_contest(self, address: Address, claims: dict[Place, Resource]) -> None:
        if len(claims) > 1:
            self._contested.add(address)
        else:
            self._contested.discard(address)
        if not claims:
            del self._claims[address]

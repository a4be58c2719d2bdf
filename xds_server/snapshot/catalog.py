"""The catalog: all that is declared, by whom, and who holds a name that several claim.

There is one of resources, by address, and one of objects, by identity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Generic

from xds_server.ir.problem import Problem
from xds_server.snapshot.compile import CompiledUnit, K, T

Place = tuple[int, str]
"""(rank of the source, key of the unit): places in this order decide who keeps a name."""


@dataclass(slots=True)
class _Unit(Generic[K, T]):
    members: dict[K, T] = field(default_factory=dict)
    invalid: dict[K, tuple[Problem, ...]] = field(default_factory=dict)
    duplicates: dict[K, Problem] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


class Catalog(Generic[K, T]):
    """What is declared, by key and place. What it costs to change one does not grow with how many there are."""

    def __init__(self, kind_of: Callable[[K], str], duplicate: Callable[[K, T, T], Problem]) -> None:
        """Begin with nothing; `duplicate` says that a key (the first one's) is claimed by a second one too."""
        self._kind_of = kind_of
        self._duplicate = duplicate
        self._units: dict[Place, _Unit[K, T]] = {}
        self._claims: dict[K, dict[Place, T]] = {}
        self._faulty: dict[K, dict[Place, tuple[Problem, ...]]] = {}
        self._contested: set[K] = set()
        self._troubled: set[Place] = set()
        self._counts: dict[int, Counter[str]] = {}

    def replace(self, rank: int, compiled: CompiledUnit[K, T]) -> set[K]:
        """Take over what a place declares now; the keys that this touches.

        What can't be read keeps its last good content: a broken unit as a whole, an invalid document alone, and
        whatever is missing beside a document that does not even tell its name.
        """
        place = (rank, compiled.key)
        old = self._unit(place)
        if compiled.broken:
            self._put(place, _Unit(old.members, old.invalid, old.duplicates, tuple(compiled.problems)))
            return set()
        stay = old.members.keys() if compiled.nameless else old.members.keys() & compiled.invalid.keys()
        members = {each: old.members[each] for each in stay} | compiled.members
        self._put(place, _Unit(members, compiled.invalid, compiled.duplicates, tuple(compiled.problems)))
        troubles = old.invalid.keys() | compiled.invalid.keys() | old.duplicates.keys() | compiled.duplicates.keys()
        return self._claim(place, old.members, members) | troubles

    def put(self, rank: int, key: str, members: dict[K, T]) -> set[K]:
        """Take over what a place is known to have declared; the keys that this touches."""
        place = (rank, key)
        old = self._unit(place).members
        self._put(place, _Unit(members))
        return self._claim(place, old, members)

    def amend(self, rank: int, key: str, changes: Mapping[K, T | None]) -> set[K]:
        """Take over single changes of what a place is known to have declared; the keys that this touches."""
        place = (rank, key)
        unit = self._units.setdefault(place, _Unit())
        old = {each: unit.members[each] for each in changes if each in unit.members}
        new = {each: member for each, member in changes.items() if member is not None}
        for each in old:
            del unit.members[each]
        unit.members.update(new)
        return self._claim(place, old, new)

    def move(self, rank: int, key: str, to: str) -> set[K]:
        """Have another place stand for what a place declared; the keys that this touches."""
        unit = self._unit((rank, key))
        return self.remove(rank, key) | self.put(rank, to, unit.members)

    def remove(self, rank: int, key: str) -> set[K]:
        """Forget a place; the keys that this touches."""
        place = (rank, key)
        old = self._unit(place)
        self._put(place, _Unit())
        del self._units[place]
        return self._claim(place, old.members, {}) | old.invalid.keys() | old.duplicates.keys()

    def holder(self, key: K) -> T | None:
        """What holds a key: that of the first place."""
        claims = self._claims.get(key)
        return claims[min(claims)] if claims else None

    def invalid(self, key: K) -> tuple[Problem, ...]:
        """Why the newest form of what is declared under a key can't be read, of the place that holds it or would."""
        claims, faulty = self._claims.get(key), self._faulty.get(key, {})
        return faulty.get(min(claims or faulty), ()) if faulty else ()

    def place(self, key: K) -> Place | None:
        """The place that holds a key."""
        claims = self._claims.get(key)
        return min(claims) if claims else None

    def duplicates(self, key: K) -> tuple[Problem, ...]:
        """What else is declared under a key, beside what holds it: in the same place, and in others."""
        claims = self._claims.get(key)
        if not claims:
            return ()
        winner = min(claims)
        within = self._units[winner].duplicates.get(key)
        others = [self._duplicate(key, claims[winner], claims[each]) for each in sorted(claims) if each != winner]
        return (*(() if within is None else (within,)), *others)

    def declared(self, rank: int, key: str) -> AbstractSet[K]:
        """The keys of what a place declares, or is taken to declare still."""
        return self._unit((rank, key)).members.keys()

    def lacking(self, rank: int, key: str) -> set[K]:
        """What a place declares that can't be read, and of which no good form is known."""
        unit = self._unit((rank, key))
        return {each for each in unit.invalid if each not in unit.members}

    def problems(self, rank: int) -> list[Problem]:
        """All standing problems of a source in the order of its units, names lost to others at the end."""
        found: list[Problem] = []
        for place in sorted(self._troubled):
            if place[0] == rank:
                unit = self._units[place]
                found += [*unit.problems, *unit.duplicates.values()]
        return found + [problem for place, _, problem in self._lost() if place[0] == rank]

    def objects(self, rank: int) -> dict[str, int]:
        """How many of which kind a source declares."""
        return dict(sorted((+self._counts.get(rank, Counter())).items()))

    def rejected(self) -> Iterator[tuple[K, Problem]]:
        """What is not served because it is invalid or its name is taken."""
        for place in sorted(self._troubled):
            unit = self._units[place]
            for key, problems in unit.invalid.items():
                yield from ((key, problem) for problem in problems)
            yield from unit.duplicates.items()
        for _, key, problem in self._lost():
            yield key, problem

    def _lost(self) -> Iterator[tuple[Place, K, Problem]]:
        for key in sorted(self._contested):
            claims = self._claims[key]
            winner = min(claims)
            for place in sorted(claims):
                if place != winner:
                    yield place, key, self._duplicate(key, claims[winner], claims[place])

    def _unit(self, place: Place) -> _Unit[K, T]:
        return self._units.get(place) or _Unit()

    def _put(self, place: Place, unit: _Unit[K, T]) -> None:
        old = self._unit(place).invalid
        self._units[place] = unit
        for key in old.keys() | unit.invalid.keys():
            faulty = self._faulty.setdefault(key, {})
            if key in unit.invalid:
                faulty[place] = unit.invalid[key]
            else:
                del faulty[place]
            if not faulty:
                del self._faulty[key]
        if unit.problems or unit.invalid or unit.duplicates:
            self._troubled.add(place)
        else:
            self._troubled.discard(place)

    def _claim(self, place: Place, old: Mapping[K, T], new: Mapping[K, T]) -> set[K]:
        touched = set()
        counts = self._counts.setdefault(place[0], Counter())
        for key in old.keys() | new.keys():
            before, after = old.get(key), new.get(key)
            if before is after:
                continue
            touched.add(key)
            counts[self._kind_of(key)] += (after is not None) - (before is not None)
            claims = self._claims.setdefault(key, {})
            if after is None:
                del claims[place]
            else:
                claims[place] = after
            self._note_contest(key, claims)
        return touched

    def _note_contest(self, key: K, claims: Mapping[Place, T]) -> None:
        if len(claims) > 1:
            self._contested.add(key)
        else:
            self._contested.discard(key)
        if not claims:
            del self._claims[key]

"""The objects that sources declare: by identity, as the first place has them, and in their last good form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from xds_server.ir.declared import Unit
from xds_server.ir.objects import Object, ObjectKey, Standing
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.snapshot.catalog import Catalog
from xds_server.snapshot.compile import CompiledUnit
from xds_server.snapshot.places import Place, place_of, places_of
from xds_server.snapshot.seeds import Seeds
from xds_server.wire.types import PREFIX


@dataclass(frozen=True, slots=True)
class LastGood:
    """The objects that were in force before this process; of those `withheld` only identity and place are known."""

    objects: Sequence[Object] = ()
    withheld: Sequence[Origin] = ()


NOTHING_GOOD = LastGood()


class _Kept(NamedTuple):
    """The objects of a place that stand in their last good form because something there can't be read, and what."""

    objects: AbstractSet[ObjectKey]
    problems: tuple[Problem, ...]


_NOTHING_KEPT = _Kept(frozenset(), ())


class ObjectStore:
    """What stands under each identity. It gathers what changes until it is asked."""

    def __init__(self) -> None:
        self.catalog: Catalog[ObjectKey, Object] = Catalog(lambda key: key.kind, _duplicate)
        self._touched: set[ObjectKey] = set()
        self._seeds: Seeds[ObjectKey, Object] = Seeds(self.catalog)
        self._withheld: dict[str, set[ObjectKey]] = {}
        self._restored: set[Place] = set()
        self._kept: dict[Place, _Kept] = {}

    def plant(self, good: LastGood, ranks: Mapping[str, int]) -> None:
        """Begin with what each place declared before; `ranks` has the sources that there are, by name."""
        self._touched |= self._seeds.plant(((each.origin, each.key, each) for each in good.objects), ranks)
        for origin in good.withheld:
            self._withheld.setdefault(place_of(origin), set()).add(ObjectKey.of(origin))

    def take(self, rank: int, key: str, unit: Unit | None) -> bool:
        """Take over what a place declares now (None: it is gone); whether that changes what it declares."""
        catalog = self.catalog
        if handed := self._seeds.hand_over(rank, {key: unit}):
            self._restored.add((rank, key))
            self._touched |= handed
        touched = catalog.remove(rank, key) if unit is None else catalog.replace(rank, _by_identity(unit))
        self._touched |= touched | self._note_kept((rank, key), unit)
        return bool(touched)

    def knows(self, rank: int, unit: Unit) -> bool:
        """Whether a place has declared any object, in this process or before it."""
        is_withheld = any(place in self._withheld for place in places_of(unit))
        return is_withheld or bool(self.catalog.declared(rank, unit.key)) or self._seeds.has(rank, unit)

    def settle(self, rank: int, units: Mapping[str, Unit | None]) -> None:
        """After all units of a batch are taken in, let go of what places declared before that are gone."""
        self._touched |= self._seeds.drop(rank, units)

    def changes(self) -> dict[ObjectKey, Standing | None]:
        """What stands under the identities that were touched since the last call; None for those that are gone."""
        touched, self._touched = self._touched, set()
        return {key: self._standing(key) for key in sorted(touched)}

    def lacking(self, rank: int, unit: Unit) -> set[ObjectKey] | None:
        """The objects of a place that can't be read, and of which no good form is known; None: it may be any."""
        invalid = self.catalog.lacking(rank, unit.key)
        if not (unit.broken or _by_identity(unit).nameless):
            return invalid
        withheld = {key for place in places_of(unit) for key in self._withheld.get(place, ())}
        if not withheld and (rank, unit.key) not in self._restored:
            return None
        return invalid | (withheld - self.catalog.declared(rank, unit.key))

    def _note_kept(self, place: Place, unit: Unit | None) -> set[ObjectKey]:
        """Note which objects of a place stand only because it can't be read as a whole; all for which that changes."""
        before = self._kept.pop(place, _NOTHING_KEPT)
        if unit is None or not (unit.broken or _by_identity(unit).nameless):
            return set(before.objects)
        objects = self.catalog.declared(*place) - {each.key for each in unit.objects}
        after = self._kept[place] = _Kept(objects, unit.problems if unit.broken else tuple(_nameless(unit)))
        return set(before.objects | after.objects) if before != after else set()

    def _standing(self, key: ObjectKey) -> Standing | None:
        held, place, problems = self.catalog.holder(key), self.catalog.place(key), self.catalog.invalid(key)
        kept = self._kept.get(place) if place is not None else None
        if kept is not None and key in kept.objects:
            problems = problems or kept.problems
        return Standing(held, problems, self.catalog.duplicates(key)) if held is not None or problems else None


def _by_identity(unit: Unit) -> CompiledUnit[ObjectKey, Object]:
    """The objects of a unit; its problems are told by whoever takes its documents."""
    compiled: CompiledUnit[ObjectKey, Object] = CompiledUnit(unit.key, broken=unit.broken)
    for each in unit.objects:
        first = compiled.members.setdefault(each.key, each)
        if first is not each:
            compiled.duplicates[each.key] = _duplicate(each.key, first, each)
    for problem in unit.problems:
        if problem.origin.api_version.startswith(PREFIX):
            continue
        if problem.origin.kind and problem.origin.name:
            key = ObjectKey.of(problem.origin)
            compiled.invalid[key] = (*compiled.invalid.get(key, ()), problem)
    compiled.nameless = any(_nameless(unit))
    return compiled


def _nameless(unit: Unit) -> Iterator[Problem]:
    """The problems that do not tell which object they are of."""
    for problem in unit.problems:
        origin = problem.origin
        if not (origin.api_version.startswith(PREFIX) or (origin.kind and origin.name)):
            yield problem


def _duplicate(key: ObjectKey, first: Object, second: Object) -> Problem:
    message = f"{key} is declared already in {first.origin}, which keeps the name"
    return Problem(second.origin, "DuplicateObject", message, "metadata.name")

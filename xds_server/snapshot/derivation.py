"""What is derived of objects and facts: to the catalog it is one more place for each group, after all sources.

After a start that place has what was derived before (as the last good snapshots tell) until all that it was made of has
been read again: of half a world less would come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from xds_server.derive.engine import Fault
from xds_server.derive.outcome import Outcome
from xds_server.ir.declared import Unit
from xds_server.ir.facts import FactChanges
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.objects import ObjectKey, Standing
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.ir.switches import FrozenRoutes, Switches
from xds_server.snapshot.catalog import Catalog
from xds_server.snapshot.compile import Address
from xds_server.snapshot.objects import LastGood, ObjectStore
from xds_server.snapshot.places import NOBODY, Place, place_of, places_of
from xds_server.snapshot.snapshot import Snapshot
from xds_server.wire.resource import Resource
from xds_server.wire.types import PREFIX

_Need = tuple[Place, ObjectKey]
"""An object that something was made of, and where it was declared."""

_RANK = 1 << 30
"""The rank of what is derived: a name that a source has in native form too is the source's."""


@dataclass(frozen=True, slots=True)
class Round:
    """What came of one round of derivation: what is not as before, and what failed by a fault of ours."""

    resources: Mapping[Address, Resource | None] = field(default_factory=dict)
    outcome: Outcome = field(default_factory=Outcome)
    faults: Sequence[Fault] = ()
    made: Mapping[str, int] = field(default_factory=dict)
    """How many items of which collection were made."""


Locate = Callable[[Problem], Problem]
"""Adds the line of the field, as far as it can be told."""


class Deriving(Protocol):
    """What makes resources of objects and facts."""

    @property
    def resources(self) -> Mapping[Address, Resource]:
        """All that is derived now."""

    def update(self, objects: Mapping[ObjectKey, Standing | None], facts: FactChanges) -> Round:
        """Take changes in (None: gone), at the price of what they touch; what came of them."""

    def govern(self, switches: Switches, frozen: FrozenRoutes) -> FrozenRoutes:
        """Have the next update go by these switches; what is kept from now on of the routes that they freeze.

        That is what is known of them (`frozen`), and of the others how they are now.
        """


class _Unread(NamedTuple):
    """A unit that can't be read as a whole: where it is, and the objects that can't be told; None: any."""

    places: set[Place]
    lacking: set[ObjectKey] | None

    def holds(self, need: _Need) -> bool:
        """Whether it may declare what is needed."""
        return need[0] in self.places and (self.lacking is None or need[1] in self.lacking)


class Derivation:
    """Keeps the objects, has resources made of them, and puts these in the catalog."""

    def __init__(self, catalog: Catalog[Address, Resource], deriving: Deriving, locate: Locate) -> None:
        self.store = ObjectStore()
        self.last = Round()
        """What came of the last round."""
        self._catalog = catalog
        self._deriving = deriving
        self._locate = locate
        self._seeded: dict[str, int] = {}
        self._needs: dict[str, set[_Need]] = {}
        self._unread: dict[int, dict[str, _Unread]] = {}
        self._spoken: set[int] = set()
        self._remarks: dict[GatewayKey, tuple[Problem, ...]] = {}

    def plant(self, snapshots: Iterable[Snapshot], good: LastGood, ranks: Mapping[str, int]) -> None:
        """Begin with what was derived before, and what of; `ranks` has the sources that there are, by name."""
        self.store.plant(good, ranks)
        for snapshot in snapshots:
            found = {
                (snapshot.group, resource.type_url, resource.name): resource
                for typeset in snapshot.types.values()
                for resource in typeset
                if is_derived(resource)
            }
            if found:
                self._catalog.put(_RANK, snapshot.group, found)
                self._seeded[snapshot.group] = len(found)
                self._needs[snapshot.group] = {
                    ((ranks.get(origin.source, NOBODY), place_of(origin)), ObjectKey.of(origin))
                    for resource in found.values()
                    for origin in resource.origins
                }

    def take(self, rank: int, key: str, unit: Unit | None) -> bool:
        """Take over the objects of a place; whether anything is touched."""
        touched = self.store.take(rank, key, unit)
        if self._needs:
            unread = self._unread.setdefault(rank, {})
            lacking = self.store.lacking(rank, unit) if unit is not None else set()
            if unit is None or lacking == set():
                unread.pop(key, None)
            else:
                unread[key] = _Unread({(rank, place) for place in places_of(unit)}, lacking)
        return touched

    def settle(self, rank: int, units: Mapping[str, Unit | None]) -> None:
        """After all units of a batch are taken in, note what has been read of a source, or is gone.

        A source that has declared nothing at all is taken for one that is not there yet.
        """
        self.store.settle(rank, units)
        if any(unit is not None and (unit.objects or unit.documents or unit.problems) for unit in units.values()):
            self._spoken.add(rank)
        if rank in self._spoken:
            unread = self._unread.get(rank, {}).values()
            for needs in self._needs.values():
                needs -= {
                    need
                    for need in needs
                    if need[0][0] in {rank, NOBODY} and not any(each.holds(need) for each in unread)
                }

    def run(self, facts: FactChanges) -> set[Address]:
        """Derive what has changed; the addresses that this touches."""
        objects = self.store.changes()
        made = self._deriving.update(objects, facts)
        good = {key: None if standing is None else standing.object for key, standing in objects.items()}
        self.last = replace(made, outcome=replace(made.outcome, objects=good))
        self._note(made.outcome)
        changes: dict[str, dict[Address, Resource | None]] = {}
        for address, resource in made.resources.items():
            if address[0] not in self._needs:
                changes.setdefault(address[0], {})[address] = resource
        touched: set[Address] = set()
        for group, changed in changes.items():
            touched |= self._catalog.amend(_RANK, group, changed)
        for group in [group for group, needs in self._needs.items() if not needs]:
            del self._needs[group]
            whole = {each: resource for each, resource in self._deriving.resources.items() if each[0] == group}
            touched |= self._catalog.put(_RANK, group, whole)
        return touched

    def govern(self, switches: Switches, frozen: FrozenRoutes) -> FrozenRoutes:
        """See `Deriving.govern`."""
        return self._deriving.govern(switches, frozen)

    @property
    def is_waiting(self) -> bool:
        """Whether anything stays as it was before this process until what it was made of is read."""
        return bool(self._needs)

    def problems(self, source: str) -> list[Problem]:
        """What of a source's objects can't be served: it does not agree, or a source has its name in native form."""
        lost = self._catalog.problems(_RANK)
        told = (problem for remarks in self._remarks.values() for problem in remarks)
        return [problem for problem in (*told, *lost) if problem.origin.source == source]

    def _note(self, outcome: Outcome) -> None:
        for key, report in outcome.reports.items():
            remarks = () if report is None else tuple(map(self._locate, (*report.invalid, *report.unresolved)))
            if remarks:
                self._remarks[key] = remarks
            else:
                self._remarks.pop(key, None)

    def awaited(self, rank: int) -> int:
        """How many resources are served as they were until this source has declared anything."""
        if rank in self._spoken:
            return 0
        return sum(
            self._seeded[group] for group, needs in self._needs.items() if any(place[0] == rank for place, _ in needs)
        )


def declared_natively(snapshots: Iterable[Snapshot]) -> Iterator[tuple[Origin, Address, Resource]]:
    """What was served that a source had declared as it is, and where."""
    for snapshot in snapshots:
        for typeset in snapshot.types.values():
            for resource in typeset:
                if not is_derived(resource):
                    origin = resource.origins[0] if resource.origins else Origin("")
                    yield origin, (snapshot.group, resource.type_url, resource.name), resource


def is_derived(resource: Resource) -> bool:
    """Whether a resource was made of objects: what is declared natively is its own origin."""
    versions = [origin.api_version for origin in resource.origins]
    return not versions or (bool(versions[0]) and not versions[0].startswith(PREFIX))

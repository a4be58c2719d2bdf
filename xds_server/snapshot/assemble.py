"""Assembly: from what sources hand over to the next snapshots. Pure but for its memory of what it was told before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from xds_server.ir.declared import Unit
from xds_server.ir.facts import NO_FACTS, FactChanges, RouteKey
from xds_server.ir.problem import Problem
from xds_server.ir.switches import FrozenRoutes, Switches
from xds_server.snapshot.catalog import Catalog
from xds_server.snapshot.closure import Closure, Key, Prune
from xds_server.snapshot.compile import Address, Decode, compile_unit, duplicate
from xds_server.snapshot.derivation import Derivation, Deriving, Locate, Round, declared_natively
from xds_server.snapshot.hold import Types
from xds_server.snapshot.objects import NOTHING_GOOD, LastGood
from xds_server.snapshot.seeds import Seeds, nothing_declared
from xds_server.snapshot.serving import NOTHING, Serving, Wanted
from xds_server.snapshot.snapshot import Behind, Change, Hold, LeftOut, Snapshot
from xds_server.snapshot.typeset import empty
from xds_server.wire.resource import Resource
from xds_server.wire.types import KEY_BY_URL

_CHANGES_NAMED = 3


@dataclass(frozen=True, slots=True)
class Batch:
    """What one source has handed over since the last time: unit by key, None for a unit that is gone."""

    rank: int
    source: str
    units: Mapping[str, Unit | None]


Find = Callable[[str, str], Resource | None]
"""(type URL, name) → what is declared, None where nothing is."""

Refuse = Callable[[str, Mapping[Key, Resource | None], Find], dict[Key, LeftOut]]
"""(group, changes, what is declared without them) → those of the changes that are not to be taken over."""


class Assembler:
    """Turns batches into the next snapshot of each group that they touch.

    What is wanted of a group is what its sources declare, as far as it resolves; what is published is the same, or
    what a rollback leaves of it. With `deriving` also what comes of their objects is wanted.
    """

    def __init__(
        self,
        decode: Decode,
        prune: Prune,
        refuse: Refuse | None = None,
        deriving: Deriving | None = None,
        *,
        locate: Locate = lambda problem: problem,
    ) -> None:
        self.catalog: Catalog[Address, Resource] = Catalog(_kind_of, _duplicate)
        self._derivation = Derivation(self.catalog, deriving, locate) if deriving is not None else None
        self._seeds: Seeds[Address, Resource] = Seeds(self.catalog)
        self._refuse = refuse
        self._refused: dict[str, dict[Key, LeftOut]] = {}
        self._decode = decode
        self._prune = prune
        self._closures: dict[str, Closure] = {}
        self._wanted: dict[str, Wanted] = {}
        self._serving = Serving()
        self._waiting: set[Address] = set()
        self.faults: dict[Address, Exception] = {}
        """What could not be taken over in the last `apply` by a fault of ours; the next one tries it again."""

    def restore(self, snapshots: Sequence[Snapshot], ranks: Mapping[str, int], good: LastGood = NOTHING_GOOD) -> None:
        """Begin with what each group was served last, before this process, and with the objects that were in force.

        `ranks` has the sources by name.
        """
        for snapshot in snapshots:
            closure = self._closures[snapshot.group] = Closure(self._prune)
            resources = (resource for typeset in snapshot.types.values() for resource in typeset)
            closure.restore(resources, [(each.type_url, each.name) for each in snapshot.left_out if each.partial])
            self._wanted[snapshot.group] = Wanted(snapshot.types, snapshot.left_out)
            self._serving.restore(snapshot)
        self._seeds.plant(declared_natively(snapshots), ranks)
        if self._derivation is not None:
            self._derivation.plant(snapshots, good, ranks)

    def hold(self, group: str, held: Hold | None, version: Snapshot | None, origin: Change, now: float) -> Snapshot:
        """Hold a group at a version from now on, or release it (None for both); the snapshot that comes of it."""
        self._serving.hold(group, version)
        return self._serving.publish(group, self._wanted.setdefault(group, NOTHING), held, origin, now)

    def begin(self, switches: Switches, frozen: FrozenRoutes) -> FrozenRoutes:
        """Have the next `apply`, and all after it, go by these switches; what is kept of the routes that are frozen now.

        `frozen` is what is known of them; what is not is kept as it is now.
        """
        self._serving.govern(switches)
        return self._derivation.govern(switches, frozen) if self._derivation is not None else {}

    def govern(
        self,
        switches: Switches,
        frozen: FrozenRoutes,
        origin: Change,
        now: float,
        only: Collection[str] | None = None,
    ) -> tuple[list[Snapshot], FrozenRoutes]:
        """Go by these switches; the snapshots that come of it, and what is kept of the routes that are frozen now.

        For `frozen` see `begin`, for `now` and `only` see `apply`.
        """
        kept = self.begin(switches, frozen)
        made = {snapshot.group: snapshot for snapshot in self.apply((), now, only, origin=origin)}
        for group, wanted in self._wanted.items():
            if group not in made and (snapshot := self._serving.settle(group, wanted, origin, now)) is not None:
                made[group] = snapshot
        return list(made.values()), kept

    @property
    def behind(self) -> Mapping[str, Behind]:
        """The groups that are not served what is wanted, because of a switch."""
        return self._serving.behind

    def problems(self, rank: int, source: str) -> list[Problem]:
        """All standing problems of a source."""
        declared = self.catalog.problems(rank)
        awaited = self._seeds.awaited(rank)
        if self._derivation is not None:
            declared += self._derivation.store.catalog.problems(rank) + self._derivation.problems(source)
            awaited += self._derivation.awaited(rank)
        return ([nothing_declared(source, awaited)] if awaited else []) + list(dict.fromkeys(declared))

    def objects(self, rank: int) -> dict[str, int]:
        """How many resources and objects of which kind a source declares."""
        objects = self._derivation.store.catalog.objects(rank) if self._derivation is not None else {}
        return dict(sorted((self.catalog.objects(rank) | objects).items()))

    @property
    def is_waiting(self) -> bool:
        """Whether what was derived before this process stays until all objects that it was made of are read."""
        return self._derivation is not None and self._derivation.is_waiting

    @property
    def derived(self) -> Round:
        """What came of the derivation in the last `apply`."""
        return self._derivation.last if self._derivation is not None else Round()

    def apply(
        self,
        batches: Iterable[Batch],
        now: float,
        only: Collection[str] | None = None,
        facts: FactChanges = NO_FACTS,
        *,
        origin: Change | None = None,
    ) -> list[Snapshot]:
        """Take batches in; the new snapshots of the groups where what is served, or left out, is not as before.

        `now` (POSIX seconds) is the time of their creation. With `only` other groups wait for the next call without.
        `facts` are those that have changed; `origin` tells what else made the change.
        """
        changes: dict[str, list[str]] = {}
        for batch in batches:
            if keys := self._take(batch):
                changes.setdefault(batch.source, []).extend(keys)
        if self._derivation is not None:
            self._waiting |= self._derivation.run(facts)
        origin = origin or _origin({**changes, **_told(facts)})
        groups: dict[str, dict[Key, Resource | None]] = {}
        for group, url, name in self._waiting:
            if only is None or group in only:
                groups.setdefault(group, {})[url, name] = self.catalog.holder((group, url, name))
        rejected = self._rejected() if groups else {}
        self.faults = {}
        return [
            snapshot
            for group in sorted(groups)
            for snapshot in self._made(group, groups[group], rejected.get(group, []), origin, now)
        ]

    def _made(
        self,
        group: str,
        declared: dict[Key, Resource | None],
        rejected: list[LeftOut],
        origin: Change,
        now: float,
    ) -> list[Snapshot]:
        """What comes of changes of a group. Where they fail each is tried alone; what fails alone waits for the next call."""
        try:
            snapshot = self._next(group, self._admitted(group, declared), rejected, origin, now)
        except Exception as error:  # noqa: BLE001 - a fault of ours in one resource must not hold back the others
            if len(declared) > 1:
                parts = [self._made(group, {key: each}, rejected, origin, now) for key, each in declared.items()]
                return [snapshot for part in parts for snapshot in part]
            self.faults |= {(group, *key): error for key in declared}
            return []
        self._waiting -= {(group, *key) for key in declared}
        return [snapshot] if snapshot is not None else []

    def _take(self, batch: Batch) -> list[str]:
        """Take a source's units in; the keys of those that touch anything."""
        units = {key: self._unless_emptied(batch.rank, unit) for key, unit in batch.units.items()}
        self._waiting |= self._seeds.hand_over(batch.rank, units)
        keys: list[str] = []
        for key, unit in units.items():
            if unit is None:
                found = self.catalog.remove(batch.rank, key)
            else:
                found = self.catalog.replace(batch.rank, compile_unit(unit, self._decode))
            is_derived_of = self._derivation is not None and self._derivation.take(batch.rank, key, unit)
            if found or is_derived_of:
                keys.append(key)
            self._waiting |= found
        self._waiting |= self._seeds.drop(batch.rank, units)
        if self._derivation is not None:
            self._derivation.settle(batch.rank, units)
        return keys

    def _unless_emptied(self, rank: int, unit: Unit | None) -> Unit | None:
        """A unit; as a broken one if it has lost all content and is known to have declared something."""
        if unit is None or unit.emptied is None:
            return unit
        store = self._derivation.store if self._derivation is not None else None
        native = bool(self.catalog.declared(rank, unit.key)) or self._seeds.has(rank, unit)
        if native or (store is not None and store.knows(rank, unit)):
            return replace(unit, problems=(unit.emptied,), broken=True)
        return unit

    def _admitted(self, group: str, declared: dict[Key, Resource | None]) -> dict[Key, Resource | None]:
        """The changes without those that are refused; the closure goes on with what it had under their names."""
        if self._refuse is None:
            return declared
        closure = self._closures.setdefault(group, Closure(self._prune))
        refused = self._refuse(group, declared, closure.declared)
        standing = self._refused.get(group, {})
        self._refused[group] = {key: each for key, each in standing.items() if key not in declared} | refused
        return {key: each for key, each in declared.items() if key not in refused}

    def _rejected(self) -> dict[str, list[LeftOut]]:
        found: dict[str, list[LeftOut]] = {}
        for (group, url, name), problem in self.catalog.rejected():
            message = str(problem) if problem.reason != "DuplicateName" else problem.message
            found.setdefault(group, []).append(LeftOut(url, name, problem.reason, message, (problem.origin,)))
        return found

    def _next(
        self,
        group: str,
        declared: Mapping[Key, Resource | None],
        rejected: list[LeftOut],
        origin: Change,
        now: float,
    ) -> Snapshot | None:
        closure = self._closures.setdefault(group, Closure(self._prune))
        before = self._wanted.get(group)
        served = closure.update(declared)
        types = dict(before.types) if before else {url: empty(url) for url in KEY_BY_URL}
        for url, changes in _by_type(served).items():
            types[url] = types.get(url, empty(url)).evolve(changes)
        told = [*closure.left_out.values(), *rejected, *self._refused.get(group, {}).values()]
        left_out = tuple(sorted(told, key=lambda each: (each.type_url, each.name)))
        if before is not None and before.left_out == left_out and _same(before.types, types):
            return None
        wanted = self._wanted[group] = Wanted(types, left_out)
        return self._serving.settle(group, wanted, origin, now)


def _by_type(served: Mapping[Key, Resource | None]) -> dict[str, dict[str, Resource | None]]:
    found: dict[str, dict[str, Resource | None]] = {}
    for (url, name), resource in served.items():
        found.setdefault(url, {})[name] = resource
    return found


def _same(before: Types, after: Types) -> bool:
    return before.keys() == after.keys() and all(before[url] is after[url] for url in after)


def _told(facts: FactChanges) -> dict[str, list[str]]:
    """What has changed of facts, by where it comes from."""
    told = {
        "observers": [f"{route}: {verdict}{_edit(facts, route)}" for route, verdict in facts.verdicts.items()],
        "fleet": [f"{group}: quotas are shared by {size}" for group, size in facts.fleets.items()],
        "endpoints": [f"{backend}: has had none for a while" for backend in facts.drained],
    }
    return {source: keys for source, keys in told.items() if keys}


def _edit(facts: FactChanges, route: RouteKey) -> str:
    place = facts.edited.get(route)
    return f" (what it watches was changed in {place})" if place else ""


def _origin(changes: Mapping[str, list[str]]) -> Change:
    return Change(", ".join(changes), _summary([each for keys in changes.values() for each in sorted(keys)]))


def _summary(keys: list[str]) -> str:
    named = ", ".join(keys[:_CHANGES_NAMED])
    return named if len(keys) <= _CHANGES_NAMED else f"{named} and {len(keys) - _CHANGES_NAMED} more"


def _kind_of(address: Address) -> str:
    return address[1].rpartition(".")[2]


def _duplicate(address: Address, first: Resource, second: Resource) -> Problem:
    return duplicate(address[0], first, second)

"""Composes derivation: objects to the model, the model and facts to resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from k8s_source.to_ir.build import build
from xds_server.derive.collection import Edit, Input
from xds_server.derive.engine import Engine
from xds_server.derive.facts import facts_of
from xds_server.derive.memory import Memory
from xds_server.derive.outcome import Outcome
from xds_server.ir.backend import BackendKey, Locality
from xds_server.ir.decision import Decision
from xds_server.ir.facts import FactChanges, RouteKey, Verdict
from xds_server.ir.objects import ObjectKey, Standing
from xds_server.ir.switches import Frozen, FrozenRoutes, Switches
from xds_server.snapshot.compile import Address
from xds_server.snapshot.derivation import Round, is_derived
from xds_server.snapshot.snapshot import Snapshot
from xds_server.translate.gateway import derive_gateways, fleet_of, read_back
from xds_server.translate.gateway.names import backend_of
from xds_server.wire.resource import Resource
from xds_server.wire.types import ENDPOINT, ROUTE


class GatewayModel:
    """All that is derived, from objects to resources; see `Deriving`. For one thread at a time."""

    def __init__(self) -> None:
        self._engine = Engine()
        self._objects: Input[ObjectKey, Standing] = self._engine.input("objects")
        self._model = build(self._engine, self._objects)
        self._facts = facts_of(self._engine)
        self._derived = derive_gateways(self._engine, self._model, self._facts)
        self._memory = Memory(self._facts, self._model.backends)
        self._staged: list[Edit] = []
        self._is_frozen = False
        self._restored: Mapping[BackendKey, bool] = {}

    @property
    def resources(self) -> Mapping[Address, Resource]:
        """All that is derived now."""
        return self._derived.resources.values

    def restore(self, good: Mapping[RouteKey, Decision], snapshots: Iterable[Snapshot]) -> None:
        """Begin with what was remembered before: the last good decisions, and what each group was served last."""
        served = list(snapshots)
        fleets = self._facts.fleets.edit(restored_fleets(served))
        self._engine.update(*self._memory.restored(good, _endpoints(served)), fleets)
        self._restored = dict(self._derived.lingering.values)

    def govern(self, switches: Switches, frozen: FrozenRoutes) -> FrozenRoutes:
        """Have the next update go by these switches; what is kept from now on of the routes that they freeze."""
        named = {each.route for each in switches.freeze}
        begins = switches.frozen is not None and not self._is_frozen
        self._is_frozen = switches.frozen is not None
        kept = {key: found for key, found in frozen.items() if self._is_frozen or str(key) in named}
        for key, found in self._as_they_are():
            if key not in kept and (begins or str(key) in named):
                kept[key] = found
        modes = {**dict.fromkeys(self._facts.modes.values), **switches.modes}
        routes = {**dict.fromkeys(self._facts.frozen.values), **kept}
        self._staged = [self._facts.modes.edit(modes), self._facts.frozen.edit(routes)]
        return kept

    def _as_they_are(self) -> Iterator[tuple[RouteKey, Frozen]]:
        """The routes that are served, as they are now."""
        decisions = self._derived.decisions.values
        for gateway in self._derived.gateways.values.values():
            yield from (
                (each.key, Frozen(each, decisions[each.key])) for each in gateway.routes if each.key in decisions
            )

    def update(self, objects: Mapping[ObjectKey, Standing | None], facts: FactChanges) -> Round:
        """Take changes in, at the price of what they touch; what came of them."""
        told = {route: verdict if verdict is Verdict.OVER else None for route, verdict in facts.verdicts.items()}
        staged, self._staged = self._staged, []
        changes = self._engine.update(
            *staged,
            self._objects.edit(objects),
            self._facts.verdicts.edit(told),
            self._facts.fleets.edit(facts.fleets),
            self._facts.drained.edit(dict.fromkeys(facts.drained, True)),
        )
        resources, decisions = changes.of(self._derived.resources), changes.of(self._derived.decisions)
        backends = changes.of(self._model.backends)
        reports, watches = changes.of(self._derived.reports), changes.of(self._derived.watches)
        lingering = changes.of(self._derived.lingering)
        restored, self._restored = self._restored, {}
        # It is read only where nothing is healthy, of which nothing is written: nothing comes of it.
        self._engine.update(*self._memory.edits(decisions, backends, facts.drained))
        outcome = Outcome(reports, watches, decisions, lingering={**restored, **lingering})
        return Round(resources, outcome, changes.faults, changes.made)


def restored_fleets(snapshots: Iterable[Snapshot]) -> dict[str, int]:
    """By group among how many Envoys its quotas were shared in what was served; groups without quotas are left out."""
    return {
        snapshot.group: fleet
        for snapshot in snapshots
        for resource in snapshot.typeset(ROUTE)
        if is_derived(resource) and resource.is_known and (fleet := fleet_of(resource)) is not None
    }


def _endpoints(snapshots: Iterable[Snapshot]) -> dict[BackendKey, tuple[Locality, ...]]:
    """The endpoints of backends in what was served; those that it says there are none of are not remembered."""
    found: dict[BackendKey, tuple[Locality, ...]] = {}
    for snapshot in snapshots:
        for resource in snapshot.typeset(ENDPOINT):
            backend = backend_of(resource.name) if is_derived(resource) and resource.is_known else None
            localities = read_back(resource) if backend is not None else ()
            if backend is not None and localities:
                found[backend] = localities
    return found

"""The memory: what is written of a round, to be read where nothing is healthy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from xds_server.derive.collection import Collection, Edit
from xds_server.derive.facts import Facts, Remembered
from xds_server.ir.backend import Backend, BackendKey, Locality
from xds_server.ir.decision import Choice, Decision
from xds_server.ir.facts import RouteKey

_GOOD = (Choice.PRIMARY, Choice.DEGRADED)


class Memory:
    """Remembers of each route its last good decision, and of each backend the last endpoints that it had.

    A backend is forgotten when it is gone, drained, and no route remembers it; a route when it is gone.
    """

    def __init__(self, facts: Facts, backends: Collection[BackendKey, Backend]) -> None:
        """Remember by these facts; `backends` are those that there are."""
        self._facts = facts
        self._backends = backends
        self._routes: Counter[BackendKey] = Counter()

    def edits(
        self,
        decisions: Mapping[RouteKey, Decision | None],
        backends: Mapping[BackendKey, Backend | None],
        drained: frozenset[BackendKey] = frozenset(),
    ) -> tuple[Edit, ...]:
        """What is to be written after a round in which these came out other than before, and that drained these."""
        decided: dict[RouteKey, Remembered | None] = {}
        for route, decision in decisions.items():
            if decision is None:
                decided[route] = None
            elif decision.choice in _GOOD and decision.backend is not None:
                decided[route] = Remembered(decision.choice, decision.backend)
        doubtful = self._count(decided) | {key for key, backend in backends.items() if backend is None} | drained
        endpoints: dict[BackendKey, tuple[Locality, ...] | None] = {key: None for key in doubtful if self._is_over(key)}
        endpoints |= {key: each.localities for key, each in backends.items() if each is not None and each.localities}
        recovered = {key for key in {*backends, *drained} if self._is_healthy(key)}
        filled = dict.fromkeys([*recovered, *(key for key, each in endpoints.items() if each is None)])
        return (
            self._facts.decided.edit(decided),
            self._facts.endpoints.edit(endpoints),
            self._facts.drained.edit(filled),
        )

    def restored(
        self, good: Mapping[RouteKey, Decision], endpoints: Mapping[BackendKey, tuple[Locality, ...]]
    ) -> tuple[Edit, ...]:
        """What is to be written before the first round: what an earlier process remembered."""
        decided, *_ = self.edits(good, {})
        return decided, self._facts.endpoints.edit(endpoints)

    def _is_healthy(self, key: BackendKey) -> bool:
        backend = self._backends.current.get(key)
        return backend is not None and backend.is_healthy

    def _is_over(self, key: BackendKey) -> bool:
        """Whether nobody needs a backend's endpoints any more. What lingers is still served them."""
        is_drained = key in self._facts.drained.current
        return is_drained and not self._routes[key] and key not in self._backends.current

    def _count(self, decided: Mapping[RouteKey, Remembered | None]) -> set[BackendKey]:
        """Count anew which backends routes remember; those that one remembers no more."""
        left: set[BackendKey] = set()
        for route, after in decided.items():
            before = self._facts.decided.current.get(route)
            if after is not None:
                self._routes[after.backend] += 1
            if before is not None:
                self._routes[before.backend] -= 1
                left.add(before.backend)
        for backend in left:
            if not self._routes[backend]:
                del self._routes[backend]
        return left

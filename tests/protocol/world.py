"""A random world: everything that a group declares, always consistent, changing the way people change it.

It publishes snapshots as the real pipeline does: typesets evolve, and those that were replaced are retired.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.protocol.contents import TYPES, Declared, resource_of
from xds_server.ir.refs import Refs
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset, empty
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET

CLUSTERS = tuple(f"c{number}" for number in range(6))
LISTENERS = ("l0", "l1", "l2")
ROUTES = ("r0", "r1", "r2", "r3")
SECRETS = ("s0", "s1")
SHARED = "shared"
"""An assignment that several clusters may use."""

_HISTORY = 5
_KEPT_TYPESETS = 40

State = dict[str, dict[str, Declared]]


class World:
    """What is declared, and the snapshot made of it."""

    def __init__(self, random: Random, *, bad: float = 0.06) -> None:
        """Start with one listener, route and cluster; a share of `bad` of the changes is refused by clients."""
        self.random = random
        self.state: State = {url: {} for url in TYPES}
        self._bad = bad
        self._content = 0
        self._history: list[State] = []
        self._typesets: list[Typeset] = []
        self.snapshot = Snapshot("g", 0, 0.0, {url: empty(url) for url in TYPES})
        self._put(Declared(LISTENER, "l0", refs=Refs(routes=frozenset({"r0"}))))
        self._complete()
        self.publish()

    def change(self) -> None:
        """Change one to three things, and publish."""
        self._history = [*self._history[-_HISTORY:], {url: dict(names) for url, names in self.state.items()}]
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            self.random.choices(*_CHANGES)[0](self)
        self._complete()
        if self.random.random() < 0.6:
            self._collect()
        self.publish()

    def repair(self) -> None:
        """Give every refused content a good one, and publish."""
        for url, names in self.state.items():
            for name, each in list(names.items()):
                if each.bad:
                    self._put(Declared(url, name, self._fresh(), each.refs))
        self.publish()

    def publish(self) -> None:
        """Make the snapshot of what is declared."""
        before, types = self.snapshot, {}
        for url, names in self.state.items():
            old = before.typeset(url)
            changes: dict[str, Resource | None] = {name: resource_of(each) for name, each in names.items()}
            changes.update((name, None) for name in old.resources if name not in names)
            types[url] = old.evolve(changes)
            if types[url] is not old:
                old.retire()
        self._typesets = [*self._typesets, *types.values()][-_KEPT_TYPESETS:]
        self.snapshot = Snapshot("g", before.seq + 1, 0.0, types)

    def restart(self) -> None:
        """Begin anew with equal content, as a server that was restarted: no history, no shared logs."""
        types = {url: Typeset(url, dict(each.resources)) for url, each in self.snapshot.types.items()}
        self._typesets = list(types.values())
        self.snapshot = Snapshot("g", 1, 0.0, types)

    def lookup(self, type_url: str, version: str) -> Typeset | None:
        """The typeset that was served under that version, as the group's history gives it."""
        found = (each for each in reversed(self._typesets) if each.type_url == type_url and each.version == version)
        return next(found, None)

    def _put(self, declared: Declared) -> None:
        self.state[declared.type_url][declared.name] = declared

    def _fresh(self) -> int:
        self._content += 1
        return self._content

    def _is_bad(self) -> bool:
        return self.random.random() < self._bad

    def _change_cluster(self) -> None:
        name = self.random.choice(CLUSTERS)
        roll = self.random.random()
        assignments = frozenset({name if roll < 0.7 else SHARED} if roll < 0.9 else ())
        secrets = frozenset({self.random.choice(SECRETS)} if self.random.random() < 0.15 else ())
        refs = Refs(assignments=assignments, secrets=secrets)
        known = self.state[CLUSTER].get(name)
        if known is not None and self.random.random() < 0.6:
            refs = known.refs
        self._put(Declared(CLUSTER, name, self._fresh(), refs, self._is_bad()))

    def _change_endpoints(self) -> None:
        if self.state[ENDPOINT]:
            name = self.random.choice(sorted(self.state[ENDPOINT]))
            self._put(Declared(ENDPOINT, name, self._fresh(), bad=self._is_bad()))

    def _change_route(self) -> None:
        name = self.random.choice(ROUTES)
        clusters = frozenset(self.random.choices(CLUSTERS, k=self.random.choice((1, 1, 2))))
        self._put(Declared(ROUTE, name, self._fresh(), Refs(clusters=clusters), self._is_bad()))

    def _change_listener(self) -> None:
        name = self.random.choice(LISTENERS)
        routes = frozenset({self.random.choice(ROUTES)})
        refs = Refs(routes=routes) if self.random.random() < 0.8 else Refs(clusters=self._some_cluster())
        if self.random.random() < 0.3:
            refs = Refs(refs.clusters, routes=refs.routes, secrets=frozenset({self.random.choice(SECRETS)}))
        self._put(Declared(LISTENER, name, self._fresh(), refs, self._is_bad()))

    def _some_cluster(self) -> frozenset[str]:
        return frozenset({self.random.choice(CLUSTERS)})

    def _change_secret(self) -> None:
        if self.state[SECRET]:
            name = self.random.choice(sorted(self.state[SECRET]))
            self._put(Declared(SECRET, name, self._fresh(), bad=self._is_bad()))

    def _remove_listener(self) -> None:
        self.state[LISTENER].pop(self.random.choice(LISTENERS), None)

    def _revert(self) -> None:
        if self._history:
            chosen = self.random.choice(self._history)
            self.state = {url: dict(names) for url, names in chosen.items()}

    def _complete(self) -> None:
        """Declare whatever is referred to and not there."""
        for url, refer, target in _REFERENCES:
            for each in list(self.state[url].values()):
                for name in sorted(refer(each.refs)):
                    if name not in self.state[target]:
                        self._put(self._made_up(target, name))

    def _made_up(self, url: str, name: str) -> Declared:
        refs = Refs()
        if url == ROUTE:
            refs = Refs(clusters=self._some_cluster())
        if url == CLUSTER:
            refs = Refs(assignments=frozenset({name}))
        return Declared(url, name, self._fresh(), refs, self._is_bad())

    def _collect(self) -> None:
        """Drop whatever nothing refers to; listeners are wanted for themselves."""
        for target in (ROUTE, CLUSTER, SECRET, ENDPOINT):
            users = [(url, refer) for url, refer, used in _REFERENCES if used == target]
            used = {name for url, refer in users for each in self.state[url].values() for name in refer(each.refs)}
            self.state[target] = {name: each for name, each in self.state[target].items() if name in used}


_REFERENCES: tuple[tuple[str, Callable[[Refs], frozenset[str]], str], ...] = (
    (LISTENER, lambda refs: refs.routes, ROUTE),
    (LISTENER, lambda refs: refs.clusters, CLUSTER),
    (ROUTE, lambda refs: refs.clusters, CLUSTER),
    (LISTENER, lambda refs: refs.secrets, SECRET),
    (CLUSTER, lambda refs: refs.secrets, SECRET),
    (CLUSTER, lambda refs: refs.assignments, ENDPOINT),
)
"""Who refers to what, users before what they use."""

_CHANGES: tuple[list[Callable[[World], None]], list[int]] = (
    [
        World._change_route,
        World._change_cluster,
        World._change_endpoints,
        World._change_listener,
        World._change_secret,
        World._remove_listener,
        World._revert,
    ],
    [8, 4, 3, 3, 1, 1, 2],
)

"""Stand-ins: the variant of a snapshot without some of its contents, closed under references as it is. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from xds_server.ir.refs import Refs
from xds_server.snapshot.closure import Key, Prune, targets
from xds_server.snapshot.snapshot import Snapshot
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, ROUTE, SECRET

_REFERS: Mapping[str, Callable[[Refs], frozenset[str]]] = {
    CLUSTER: lambda refs: refs.clusters,
    ENDPOINT: lambda refs: refs.assignments,
    ROUTE: lambda refs: refs.routes,
    SECRET: lambda refs: refs.secrets,
}

Find = Callable[[str, str], Resource | None]
"""(type URL, name) → the newest content of it that some node has accepted."""


def without(snapshot: Snapshot, withheld: Mapping[Key, Resource | None], accepted: Find, prune: Prune) -> Snapshot:
    """The snapshot with `withheld` contents replaced by what stands in for them (None: nothing does).

    What a stand-in needs and the snapshot lacks is brought back as it was accepted. What can't do without something that
    is missing now is replaced by what was accepted of it, else by what of it resolves, else left out.
    """
    choices = _Choices(snapshot, withheld, accepted, prune).settled()
    by_type: dict[str, dict[str, Resource | None]] = {}
    for (url, name), resource in choices.items():
        by_type.setdefault(url, {})[name] = resource
    types = {url: snapshot.typeset(url).overlay(changes) for url, changes in by_type.items()}
    return replace(snapshot, types={**snapshot.types, **types}, whole=snapshot)


class _Choices:
    """What each key has that is touched, worked out until nothing refers to what is missing; `_missing` only grows."""

    def __init__(
        self, snapshot: Snapshot, withheld: Mapping[Key, Resource | None], accepted: Find, prune: Prune
    ) -> None:
        self._snapshot = snapshot
        self._withheld = withheld
        self._accepted = accepted
        self._prune = prune
        self._chosen: dict[Key, Resource | None] = {}
        self._missing: set[Key] = set()

    def settled(self) -> Mapping[Key, Resource | None]:
        todo = list(self._withheld)
        while todo:
            key = todo.pop()
            choice = self._chosen[key] = self._choose(key)
            if choice is not None:
                todo.extend(target for target in targets(choice) if self._is_unseen(target))
            elif key not in self._missing:
                self._missing.add(key)
                todo.extend(self._users(key))
        return self._chosen

    def _choose(self, key: Key) -> Resource | None:
        return next((each for each in self._options(key) if self._resolves(each)), None)

    def _options(self, key: Key) -> Iterator[Resource]:
        """What may stand there, the best first."""
        url, name = key
        if key in self._withheld:
            stand_in = self._withheld[key]
            if stand_in is not None:
                yield stand_in
            return
        own, accepted = self._snapshot.typeset(url).get(name), self._accepted(url, name)
        if own is not None:
            yield own
        if accepted is not None:
            yield accepted
        if own is not None and url == ROUTE:
            pruned, _ = self._prune(own, {target for kind, target in self._missing if kind == CLUSTER})
            if pruned is not None:
                yield pruned

    def _resolves(self, resource: Resource) -> bool:
        return self._missing.isdisjoint(targets(resource))

    def _is_unseen(self, key: Key) -> bool:
        return key not in self._chosen and key[1] not in self._snapshot.typeset(key[0])

    def _users(self, key: Key) -> Iterator[Key]:
        """Who refers to a key, in the snapshot or by what was chosen."""
        url, name = key
        refers = _REFERS.get(url)
        if refers is None:
            return
        typesets = (typeset for kind, typeset in self._snapshot.types.items() if kind not in (ENDPOINT, SECRET))
        for resource in chain(self._chosen.values(), *typesets):
            if resource is not None and name in refers(resource.refs):
                yield (resource.type_url, resource.name)

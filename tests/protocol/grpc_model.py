"""The model of gRPC's own client: it asks for everything by name, for a cluster only after the route that names it.

It goes on using the clusters of the former route until the new ones and their endpoints are there, and it takes
over the good resources of a response that it refuses (gRFC A46).
"""

from __future__ import annotations

from random import Random

from tests.protocol.contents import Content
from tests.protocol.model import Client, Refusal
from tests.protocol.speech import Received
from xds_server.stream.session import Variant
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE, key_of

GHOST = "nobody"
"""A target that no world declares."""

_TARGETS = ("l0", "l1", "l2", GHOST)


class GrpcModel(Client):
    """One gRPC process with some channels; `targets` are the listeners that they ask for."""

    def __init__(self, name: str, variant: Variant, random: Random) -> None:
        self.targets: frozenset[str] = frozenset(random.sample(_TARGETS, 2))
        self._active: dict[str, frozenset[str]] = {}
        self._errors: set[tuple[str, str]] = set()
        super().__init__(name, variant, random)

    def reset(self) -> None:
        super().reset()
        self._active = {}
        self._errors.clear()

    def retarget(self) -> None:
        """A channel goes idle, or comes: listeners are dropped and asked for again."""
        self.targets = frozenset(self.random.sample(_TARGETS, self.random.choice((1, 2, 2, 3))))
        self._settle()

    def faults(self, *, warm: bool) -> list[str]:
        return []

    def _begin(self) -> None:
        self._want_all(at_once=True)

    def _apply(self, received: Received) -> str | None:
        url = received.type_url
        gone = self._gone(received)
        self._check_removal(url, gone)
        for name in gone:
            del self.held[url][name]
        self._unclaim(url, gone)
        wanted = self.speech.names.get(url) or frozenset()
        bad = [each.name for each in received.contents if each.bad]
        for each in received.contents:
            if each.bad:
                self._errors.add((url, each.name))
            elif each.name in wanted:
                self.held[url][each.name] = each
                self._claim(received, each.name)
                self._errors.discard((url, each.name))
        if not bad:
            return None
        if url in (LISTENER, CLUSTER) or self.random.random() < 0.5:
            self.refusals[received.nonce] = Refusal(frozenset(bad), named=True)
            return (
                f"xDS response validation errors: [{'; '.join(f'resource index 0: {name}: it is bad' for name in bad)}]"
            )
        self.refusals[received.nonce] = Refusal(frozenset(bad), named=False)
        return f"these do not please: {bad}"

    def _claim(self, received: Received, name: str) -> None:
        """Note one content that was applied, whatever becomes of the rest of its response."""
        if received.versions is not None:
            self._versions[received.type_url][name] = received.versions[name]

    def _check_removal(self, url: str, gone: list[str]) -> None:
        in_use = {CLUSTER: self._in_use(), ROUTE: self._routes(), ENDPOINT: self._assignments()}.get(url, frozenset())
        taken = in_use.intersection(gone)
        if taken:
            self._complain(f"{sorted(taken)} of {key_of(url)} are in use and were removed")

    def _settle(self) -> None:
        self._want(LISTENER, self.targets)
        listeners = self.held[LISTENER]
        self._active = {name: clusters for name, clusters in self._active.items() if name in listeners}
        for name, listener in listeners.items():
            routes = self.held[ROUTE]
            users = [listener, *(routes[route] for route in listener.refs.routes if route in routes)]
            needed = frozenset(cluster for each in users for cluster in each.refs.clusters)
            if all(self._has(ROUTE, each) for each in listener.refs.routes) and all(map(self._is_ready, needed)):
                self._active[name] = needed
        self._want_all()

    def _want_all(self, *, at_once: bool = False) -> None:
        self._want(LISTENER, self.targets, at_once=at_once)
        self._want(ROUTE, self._routes(), at_once=at_once)
        self._want(CLUSTER, self._clusters() | self._in_use(), at_once=at_once)
        self._want(ENDPOINT, self._assignments(), at_once=at_once)

    def _in_use(self) -> frozenset[str]:
        """The clusters that channels use, perhaps by a configuration that is about to be replaced."""
        return frozenset(name for clusters in self._active.values() for name in clusters)

    def _routes(self) -> frozenset[str]:
        return frozenset(name for each in self.held[LISTENER].values() for name in each.refs.routes)

    def _clusters(self) -> frozenset[str]:
        users: list[Content] = [*self.held[LISTENER].values(), *self.held[ROUTE].values()]
        return frozenset(name for each in users for name in each.refs.clusters)

    def _assignments(self) -> frozenset[str]:
        return frozenset(name for each in self.held[CLUSTER].values() for name in each.refs.assignments)

    def _has(self, url: str, name: str) -> bool:
        """Whether the client knows what to do about that name, be it an error that it reports to its caller."""
        return name in self.held[url] or (url, name) in self._errors

    def _is_ready(self, name: str) -> bool:
        if not self._has(CLUSTER, name):
            return False
        cluster = self.held[CLUSTER].get(name)
        return cluster is None or all(self._has(ENDPOINT, each) for each in cluster.refs.assignments)

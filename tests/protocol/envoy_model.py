"""The model of Envoy: wildcard clusters and listeners, warming, and a CDS answer that waits for endpoints.

Facts: a new or changed cluster warms until an assignment comes after it, changed or not; meanwhile Envoy pauses
CDS requests, the answer included (source/common/upstream/cluster_manager_impl.cc, `updateClusterCounts`;
measured with 1.40). A listener is accepted at once and takes over from its predecessor when its route
configuration and secrets are there. Of a response with several routes, assignments or secrets, those before the
first bad one are applied, and what is removed comes last (source/extensions/config_subscription/grpc/watch_map.cc).
What was applied of a response that was refused is not claimed on the next stream, and what it removed still is
(delta_subscription_state.cc, `handleGoodResponse`: versions are noted once all was accepted).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from tests.protocol.contents import Content
from tests.protocol.model import Client, Refusal
from tests.protocol.speech import Received
from xds_server.stream.session import Variant
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET, key_of

_WORDS = {CLUSTER: "Error adding/updating cluster(s) ", LISTENER: "Error adding/updating listener(s) "}
_INVALID = "Proto constraint validation failed: value does not match"


@dataclass(slots=True)
class _Phase:
    """One cluster or listener: the version in use, and the one that gets ready to replace it."""

    active: Content | None = None
    warming: Content | None = None
    fresh: bool = False
    stream: int = 0

    def newest(self) -> Content | None:
        return self.warming or self.active

    def both(self) -> Iterator[Content]:
        if self.active is not None:
            yield self.active
        if self.warming is not None:
            yield self.warming


class EnvoyModel(Client):
    """One Envoy; `phases` are its clusters and listeners by type."""

    def __init__(self, name: str, variant: Variant, random: Random) -> None:
        self.phases: dict[str, dict[str, _Phase]] = {}
        self._failed: dict[str, set[str]] = {}
        self._unanswered: list[tuple[Received, str | None]] = []
        self._asks_listeners = False
        super().__init__(name, variant, random)

    def reset(self) -> None:
        super().reset()
        self.phases = {CLUSTER: {}, LISTENER: {}}
        self._failed = {url: set() for url in (ENDPOINT, SECRET, ROUTE)}
        self._asks_listeners = False

    @property
    def is_warming(self) -> bool:
        """Whether a cluster waits for endpoints or secrets."""
        return any(phase.warming for phase in self.phases[CLUSTER].values())

    def stuck(self) -> list[tuple[str, str, bool]]:
        """What clusters wait for, as (type URL, name), and whether they began to wait for it on this stream."""
        found = []
        for phase in self.phases[CLUSTER].values():
            if phase.warming is not None:
                missing = [(SECRET, name) for name in phase.warming.refs.secrets - self._has(SECRET)]
                missing += [(ENDPOINT, name) for name in phase.warming.refs.assignments if not phase.fresh]
                found += [(*each, phase.stream == self.streams) for each in missing]
        return found

    def run_out(self) -> None:
        """Wait no more for what did not come: `initial_fetch_timeout` has passed."""
        for url in (SECRET, ENDPOINT):
            self._give_up(url, self._wanted(url))
        self._settle()

    def faults(self, *, warm: bool) -> list[str]:
        found = []
        clusters = self.phases[CLUSTER]
        for user in self._users(active_only=False):
            found += [f"{user.name} uses {name}, unknown" for name in user.refs.clusters if name not in clusters]
        for user in self._users(active_only=True):
            known = [name for name in user.refs.clusters if name in clusters]
            found += [f"{user.name} uses {name}, warming" for name in known if warm and clusters[name].active is None]
        return found

    def _users(self, *, active_only: bool) -> Iterator[Content]:
        """What uses clusters: listeners, and the route configurations of listeners."""
        for phase in self.phases[LISTENER].values():
            for listener in phase.both():
                if active_only and listener is not phase.active:
                    continue
                yield listener
                yield from (self.held[ROUTE][name] for name in listener.refs.routes if name in self.held[ROUTE])

    def _begin(self) -> None:
        self._unanswered.clear()
        if not self.is_warming:
            self._open(CLUSTER, None, at_once=True)
        self._subscribe(at_once=True)
        if self._asks_listeners:
            self._open(LISTENER, None, at_once=True)
        self._subscribe_routes(at_once=True)

    def _apply(self, received: Received) -> str | None:
        if received.type_url in self.phases:
            return self._apply_all(received, self.phases[received.type_url])
        return self._apply_named(received)

    def _apply_all(self, received: Received, phases: dict[str, _Phase]) -> str | None:
        """Clusters or listeners: the bad ones are named and the rest is applied, or nothing is applied."""
        bad = [each.name for each in received.contents if each.bad]
        if bad and self.random.random() < 0.3:
            self.refusals[received.nonce] = Refusal(frozenset(bad), named=False)
            return _INVALID
        url = received.type_url
        for name in self._gone(received):
            del phases[name], self.held[url][name]
        for each in received.contents:
            phase = phases.get(each.name, _Phase())
            newest = phase.newest()
            if each.bad or (newest is not None and newest.body == each.body):
                continue
            phases[each.name] = phase
            phase.warming, phase.fresh, phase.stream = each, not each.refs.assignments, self.streams
            self.held[url][each.name] = each
        if not bad:
            return None
        self.refusals[received.nonce] = Refusal(frozenset(bad), named=True)
        return _WORDS[url] + ", ".join(f"{name}: it is bad" for name in bad)

    def _apply_named(self, received: Received) -> str | None:
        """Routes, endpoints, secrets: each has its own watch, and the first bad one ends the update, removals with it."""
        url = received.type_url
        wanted = self.speech.names.get(url) or frozenset()
        self._check_removal(url, received.removed)
        contents = [each for each in received.contents if each.name in wanted]
        self.random.shuffle(contents)
        for each in contents:
            if each.bad:
                self.refusals[received.nonce] = Refusal(frozenset((each.name,)), named=False)
                self._give_up(url, wanted)
                return f"{each.name} does not please"
            self.held[url][each.name] = each
            if url == ENDPOINT:
                self._note_endpoints((each.name,))
        for name in self._gone(received):
            del self.held[url][name]
        if url == ENDPOINT:
            self._note_endpoints(received.removed)
        return None

    def _check_removal(self, url: str, removed: tuple[str, ...]) -> None:
        used = self._wanted_routes() if url == ROUTE else self._wanted(url)
        taken = [name for name in removed if name in used and name in self.held[url]]
        if taken:
            self._complain(f"{taken} of {key_of(url)} are in use and were removed")

    def _give_up(self, url: str, wanted: frozenset[str]) -> None:
        """All watchers of a type hear of a refusal, and those that wait for their first content wait no more."""
        self._failed[url] |= wanted
        if url == ENDPOINT:
            self._note_endpoints(wanted)

    def _has(self, url: str) -> set[str]:
        """The names of a type that nothing waits for any more."""
        self._failed[url] &= self.speech.names.get(url) or frozenset()
        return self._failed[url] | self.held[url].keys()

    def _note_endpoints(self, names: Iterable[str]) -> None:
        """An assignment has come, or word that there is none: whoever waits for it goes on."""
        arrived = set(names)
        for phase in self.phases[CLUSTER].values():
            if arrived & _assignments(phase):
                phase.fresh = True

    def _answer(self, received: Received, error: str | None) -> None:
        if received.type_url == CLUSTER:
            self._unanswered.append((received, error))
        else:
            super()._answer(received, error)

    def _settle(self) -> None:
        secrets = self._has(SECRET)
        for phase in self.phases[CLUSTER].values():
            if phase.warming is not None and phase.fresh and phase.warming.refs.secrets <= secrets:
                phase.active, phase.warming = phase.warming, None
        self._subscribe()
        self._settle_listeners()
        if self.is_warming:
            return
        if CLUSTER not in self.speech.names:
            self._open(CLUSTER, None, at_once=False)
        for received, error in self._unanswered:
            super()._answer(received, error)
            self._ask_listeners()
        self._unanswered.clear()

    def _ask_listeners(self) -> None:
        if LISTENER not in self.speech.names:
            self._asks_listeners = True
            self._open(LISTENER, None, at_once=False)

    def _settle_listeners(self) -> None:
        self._subscribe_routes()
        routes, secrets = self._has(ROUTE), self._has(SECRET)
        for phase in self.phases[LISTENER].values():
            new = phase.warming
            if new is not None and new.refs.routes <= routes and new.refs.secrets <= secrets:
                phase.active, phase.warming = new, None
        self._subscribe()
        self._subscribe_routes()

    def _subscribe(self, *, at_once: bool = False) -> None:
        self._want(ENDPOINT, self._wanted(ENDPOINT), at_once=at_once)
        self._want(SECRET, self._wanted(SECRET), at_once=at_once)

    def _subscribe_routes(self, *, at_once: bool = False) -> None:
        self._want(ROUTE, self._wanted_routes(), at_once=at_once)

    def _wanted(self, url: str) -> frozenset[str]:
        """The assignments or secrets that clusters and listeners, old and new, refer to."""
        found: set[str] = set()
        for phases in self.phases.values():
            for phase in phases.values():
                for each in phase.both():
                    found |= each.refs.assignments if url == ENDPOINT else each.refs.secrets
        return frozenset(found)

    def _wanted_routes(self) -> frozenset[str]:
        phases = self.phases[LISTENER].values()
        return frozenset(name for phase in phases for each in phase.both() for name in each.refs.routes)


def _assignments(phase: _Phase) -> frozenset[str]:
    return phase.warming.refs.assignments if phase.warming is not None else frozenset()

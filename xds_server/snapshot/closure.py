"""The closure of a group: from what is declared to what can be served, every reference resolved.

One bad object never holds back the rest, and nothing good is lost:

- a resource whose references resolve is served as declared;
- one whose references do not resolve keeps its last good content, and what that content needs is kept with it,
  also when it is declared no more;
- without a last good content it is left out; of a route configuration only the routes that do not resolve are
  (they answer 503), since it is made of many people's routes.

The work of an update follows references from what changed; it does not grow with what exists.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Set as AbstractSet

from xds_server.ir.refs import ANYTHING, NO_REFS, Refs, merged
from xds_server.snapshot.snapshot import LeftOut
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE, SCOPED_ROUTE, SECRET

Key = tuple[str, str]
"""(type URL, name)."""

Prune = Callable[[Resource, AbstractSet[str]], tuple[Resource | None, list[str]]]
"""(route configuration, missing clusters) → what of it can be served, and notes for people."""

_LEVELS = {SECRET: 0, ENDPOINT: 1, CLUSTER: 2, ROUTE: 3, SCOPED_ROUTE: 4, LISTENER: 5}
_WHAT = {ENDPOINT: "load assignment", CLUSTER: "cluster", ROUTE: "route configuration", SECRET: "secret"}
_REASON = {ENDPOINT: "NoAssignment", CLUSTER: "NoCluster", ROUTE: "NoRoute", SECRET: "NoSecret"}


class Closure:
    """What one group declares and what of it is served; `update` is its only transition."""

    def __init__(self, prune: Prune) -> None:
        self.left_out: dict[Key, LeftOut] = {}
        self._prune = prune
        self._declared: dict[Key, Resource] = {}
        self._served: dict[Key, Resource] = {}
        self._users: dict[Key, set[Key]] = {}
        self._links: dict[Key, Refs] = {}
        self._names: dict[str, set[str]] = {}
        self._kept: set[Key] = set()
        self._pruned: set[Key] = set()
        self._pruned_before: frozenset[Key] = frozenset()
        self._before: dict[Key, Resource | None] = {}
        self._restored: set[Key] = set()
        self._queue: list[tuple[int, Key]] = []
        self._queued: set[Key] = set()

    def restore(self, served: Iterable[Resource], pruned: Iterable[Key]) -> None:
        """Begin with what was served before this process began, `pruned` in part, as if it were declared."""
        for resource in served:
            key = (resource.type_url, resource.name)
            self._declared[key] = self._served[key] = resource
            self._names.setdefault(key[0], set()).add(key[1])
        for key in self._served:
            self._relink(key)
        self._pruned.update(pruned)

    def update(self, declared: Mapping[Key, Resource | None]) -> dict[Key, Resource | None]:
        """Take over changes of what is declared (None: no more); what is served otherwise than before."""
        self._restored, self._pruned_before = set(), frozenset(self._pruned)
        for key, resource in declared.items():
            self._declare(key, resource)
        for key in {*declared, *self._kept}:
            self._push(key)
        while self._queue:
            key = heapq.heappop(self._queue)[1]
            self._queued.discard(key)
            self._decide(key)
        # Only now: what an update changed that failed is told by the next one.
        earlier, self._before = self._before, {}
        return {key: self._served.get(key) for key, before in earlier.items() if self._served.get(key) is not before}

    def declared(self, type_url: str, name: str) -> Resource | None:
        """What is declared under a name, None if nothing is."""
        return self._declared.get((type_url, name))

    def _push(self, key: Key) -> None:
        # Once is enough: a route configuration of thousands of new clusters is decided after them, not after each.
        if key not in self._queued:
            self._queued.add(key)
            heapq.heappush(self._queue, (_LEVELS.get(key[0], 0), key))

    def _declare(self, key: Key, resource: Resource | None) -> None:
        if resource is None:
            self._declared.pop(key, None)
        else:
            self._declared[key] = resource
        self._relink(key)

    def _relink(self, key: Key) -> None:
        """Note what a key refers to, in what is declared and in what is served of it."""
        declared, served = self._declared.get(key), self._served.get(key)
        found = dict.fromkeys(
            each.refs for each in (declared, served) if each is not None and each.refs is not ANYTHING
        )
        now = merged(*found) if len(found) > 1 else next(iter(found), NO_REFS)
        before = self._links.get(key, NO_REFS)
        if before is now:
            return
        for target in _beyond(before, now):
            users = self._users[target]
            users.discard(key)
            if not users:
                del self._users[target]
        for target in _beyond(now, before):
            self._users.setdefault(target, set()).add(key)
        if now:
            self._links[key] = now
        else:
            self._links.pop(key, None)

    def _decide(self, key: Key) -> None:
        """Work out what is served under one key, given what is served of what it refers to."""
        if key in self._restored:
            return
        declared = self._declared.get(key)
        told = self.left_out.pop(key, None)
        self._pruned.discard(key)
        self._kept.discard(key)
        missing = self._missing(declared) if declared is not None else []
        if declared is None or not missing:
            self._serve(key, declared)
        else:
            self._serve_in_part(key, declared, missing)
        if self.left_out.get(key) != told:
            # Who is left out because of this one must be told the new reason.
            for user in self._users.get(key, ()):
                if user in self.left_out:
                    self._push(user)

    def _serve_in_part(self, key: Key, declared: Resource, missing: list[Key]) -> None:
        """Serve the last good content, else what of the declared one resolves."""
        last = None if key in self._pruned_before else self._before.get(key, self._served.get(key))
        if last is not None and self._restore_needs(last, key):
            if last is not declared:
                self._leave_out(key, declared, missing, "its last good content stays")
            self._serve(key, last)
        else:
            self._serve_what_resolves(key, declared, missing)

    def _serve_what_resolves(self, key: Key, declared: Resource, missing: list[Key]) -> None:
        if key[0] == ROUTE:
            served, notes = self._prune(declared, {name for _, name in missing})
            if served is not None:
                self._pruned.add(key)
                self._leave_out(key, declared, missing, "; ".join(notes), partial=True)
                self._serve(key, served)
                return
        self._leave_out(key, declared, missing, "it is left out")
        self._serve(key, None)

    def _serve(self, key: Key, resource: Resource | None) -> None:
        old = self._served.get(key)
        if old is resource:
            return
        self._before.setdefault(key, old)
        if resource is None:
            del self._served[key]
            self._names[key[0]].discard(key[1])
        else:
            self._served[key] = resource
            self._names.setdefault(key[0], set()).add(key[1])
        self._relink(key)
        if (old is None) != (resource is None):
            for user in self._users.get(key, ()):
                self._push(user)

    def _missing(self, resource: Resource) -> list[Key]:
        if not resource.refs:
            return []
        return [
            (url, name)
            for url, names in _by_type(resource.refs)
            for name in sorted(names.difference(self._names.get(url, ())))
        ]

    def _restore_needs(self, resource: Resource, user: Key) -> bool:
        """Bring back what a last good content needs; False when that is not known any more."""
        needed = list(self._needs(user, resource, set()))
        if any(before is None for _, _, before in needed):
            return False
        for key, referrer, before in needed:
            self._restored.add(key)
            self._kept.add(key)
            self._serve(key, before)
            if key not in self._declared and before is not None:
                message = f"declared no more, but {_name(referrer)} still refers to it: its last good content stays"
                self.left_out[key] = LeftOut(*key, "StillReferenced", message, before.origins)
        return True

    def _needs(self, user: Key, resource: Resource, seen: set[Key]) -> Iterator[tuple[Key, Key, Resource | None]]:
        """What a content of `user` needs and is not served: key, who refers to it, what was served before this update."""
        for key in self._missing(resource):
            if key not in seen:
                seen.add(key)
                before = self._before.get(key)
                if before is not None:
                    yield from self._needs(key, before, seen)
                yield key, user, before

    def _leave_out(
        self, key: Key, declared: Resource, missing: list[Key], outcome: str, *, partial: bool = False
    ) -> None:
        named = ", ".join(self._why_missing(target) for target in missing)
        reason = _REASON.get(missing[0][0], "Unresolved")
        self.left_out[key] = LeftOut(*key, reason, f"refers to {named}; {outcome}", declared.origins, partial)

    def _why_missing(self, key: Key) -> str:
        if key in self.left_out:
            return f"{_name(key)}, which is left out ({self.left_out[key].reason})"
        return f"{_name(key)}, which is not declared"


def _name(key: Key) -> str:
    return f"{_WHAT.get(key[0], key[0].rpartition('.')[2].lower())} {key[1]!r}"


def targets(resource: Resource) -> Iterator[Key]:
    """What a resource refers to, what is used before what uses it."""
    for url, names in _by_type(resource.refs):
        yield from ((url, name) for name in sorted(names))


def _by_type(refs: Refs) -> tuple[tuple[str, frozenset[str]], ...]:
    """What is referred to by type, what is used before what uses it."""
    return (SECRET, refs.secrets), (ENDPOINT, refs.assignments), (CLUSTER, refs.clusters), (ROUTE, refs.routes)


def _beyond(refs: Refs, others: Refs) -> Iterator[Key]:
    """What is in these and not in the others; sets are compared as a whole, which takes no time for each name."""
    for (url, names), (_, rest) in zip(_by_type(refs), _by_type(others), strict=True):
        yield from ((url, name) for name in names.difference(rest))

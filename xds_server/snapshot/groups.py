"""Groups: for each the snapshot served now and those before it, and who wants to hear of the next."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Set as AbstractSet

from xds_server.snapshot.closure import Prune
from xds_server.snapshot.snapshot import Behind, Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.snapshot.views import Views
from xds_server.wire.resource import Resource

Listener = Callable[[Snapshot], None]
Later = Callable[[Callable[[], None]], object]
"""Has a function called a little later, after others have had their turn (`loop.call_soon`)."""

_TURN = 0.01
"""Seconds for which listeners are told before others get their turn."""


def leave_out(_route: Resource, _missing: AbstractSet[str]) -> tuple[Resource | None, list[str]]:
    """A `Prune` that leaves all of a route configuration out."""
    return None, []


class Tally:
    """How many nodes accepted and refused one snapshot; a node counts once for each. `trace` tells how it came about."""

    __slots__ = ("acked", "nacked", "trace")

    def __init__(self) -> None:
        self.acked = 0
        self.nacked = 0
        self.trace = ""


class Group:
    """One group: its snapshots, newest last, and their tallies; `views` tell what of the newest each stream is offered.

    `behind` tells that a switch keeps it from what is declared.
    """

    def __init__(
        self, name: str, keep: int, later: Later, age: float, *, prune: Prune, published: Callable[[str], None]
    ) -> None:
        self.name = name
        self.views = Views(lambda: self.current, prune)
        self.behind: Behind | None = None
        self._age = age
        self._keep = keep
        self._history: list[tuple[Snapshot, Tally]] = []
        self._listeners: dict[object, Listener] = {}
        self._untold: deque[object] = deque()
        self._telling = False
        self._later = later
        self._published = published

    @property
    def current(self) -> Snapshot | None:
        """The snapshot that is served, None before the first."""
        return self._history[-1][0] if self._history else None

    @property
    def untold(self) -> AbstractSet[object]:
        """The keys of those who watch and have not been told yet of what they are offered now."""
        return frozenset(self._untold)

    @property
    def tally(self) -> Tally:
        """How the current snapshot fares."""
        return self._history[-1][1] if self._history else Tally()

    def history(self) -> list[tuple[Snapshot, Tally]]:
        """All snapshots that are kept, newest first."""
        return list(reversed(self._history))

    def find(self, version: str) -> Snapshot | None:
        """The newest kept snapshot of that version, or with that seq in decimal digits; None if there is none."""
        for snapshot, _ in reversed(self._history):
            if version in (snapshot.version, str(snapshot.seq)):
                return snapshot
        return None

    def previous(self, snapshot: Snapshot) -> Snapshot | None:
        """The kept snapshot before that one."""
        older = [each for each, _ in self._history if each.seq < snapshot.seq]
        return older[-1] if older else None

    def typeset(self, type_url: str, version: str) -> Typeset | None:
        """The newest kept typeset of that type and version."""
        for snapshot, _ in reversed(self._history):
            found = snapshot.types.get(type_url)
            if found is not None and found.version == version:
                return found
        return self.views.typeset(type_url, version)

    def restore(self, snapshots: Iterable[Snapshot]) -> None:
        """Begin with these snapshots, oldest first, that an earlier process served; the last one is served again."""
        self._history.extend((snapshot, Tally()) for snapshot in snapshots)

    def publish(self, snapshot: Snapshot) -> None:
        """Serve a snapshot from now on, and tell all who watch: the first at once, the others in turns.

        Who is not told yet when the next snapshot comes hears of that one only. One with the seq of the current one
        takes its place: the same content, of which more is known. What is too old goes, but not what the group is held at.
        """
        before, tally = self.current, Tally()
        if before is not None and before.seq == snapshot.seq:
            _, tally = self._history.pop()
        self._history.append((snapshot, tally))
        self._drop_old(snapshot)
        if before is not None:
            for url, typeset in before.types.items():
                if snapshot.types.get(url) is not typeset:
                    typeset.retire()
        self._untold = deque(self._listeners)
        self._published(self.name)
        if not self._telling:
            self._tell()

    def _drop_old(self, newest: Snapshot) -> None:
        first, oldest = max(len(self._history) - self._keep, 0), newest.created - self._age
        self._history = [
            (each, tally)
            for index, (each, tally) in enumerate(self._history)
            if each is newest or each.seq == newest.held_seq or (index >= first and each.created >= oldest)
        ]

    def _tell(self) -> None:
        end = time.perf_counter() + _TURN
        while self._untold and time.perf_counter() < end:
            key = self._untold.popleft()
            listener, offered = self._listeners.get(key), self.views.of(key)
            if listener is not None and offered is not None:
                listener(offered)
        self._telling = bool(self._untold)
        if self._telling:
            self._later(self._tell)

    def watch(self, key: object, listener: Listener, *, goes_on: bool = False) -> None:
        """Have `listener` called with each new snapshot until `unwatch(key)`, as far as it is offered to it.

        `goes_on` tells that it is of a client that has something from before.
        """
        self._listeners[key] = listener
        self.views.begin(key, goes_on=goes_on)

    def unwatch(self, key: object) -> None:
        """Stop calling the listener of that key."""
        self._listeners.pop(key, None)
        self.tell_again(self.views.end(key))

    def tell_again(self, keys: Iterable[object]) -> None:
        """Call the listeners of these keys a little later: they are offered more of the current snapshot."""
        self._untold.extend(keys)
        if self._untold and not self._telling:
            self._telling = True
            self._later(self._tell)


class Groups:
    """All groups by name."""

    def __init__(
        self,
        clock: Callable[[], float],
        keep: int = 100,
        later: Later = lambda call: call(),
        age: float = math.inf,
        *,
        prune: Prune = leave_out,
    ) -> None:
        """Keep that many snapshots of each group, for `age` seconds; `clock` (POSIX seconds) dates the empty ones.

        With `later` a publish does not hold up everything else while it tells thousands of streams. `prune` makes what
        can be served of a route configuration without some clusters.
        """
        self._prune = prune
        self._clock = clock
        self._later = later
        self._keep = keep
        self._age = age
        self._synced = False
        self._groups: dict[str, Group] = {}
        self._followers: list[Callable[[str], None]] = []

    def __iter__(self) -> Iterator[Group]:
        return iter(sorted(self._groups.values(), key=lambda group: group.name))

    @property
    def synced(self) -> bool:
        """Whether every source has handed over all that it has."""
        return self._synced

    def set_synced(self) -> None:
        """Note that all sources are synced: from now on a group without a snapshot is known to be empty."""
        if self._synced:
            return
        self._synced = True
        for group in self:
            if group.current is None:
                group.publish(Snapshot(group.name, 0, self._clock()))

    def follow(self, told: Callable[[str], None]) -> None:
        """Have a function told of each group that is served another snapshot, or is dropped; it must be quick."""
        self._followers.append(told)

    def get(self, name: str) -> Group | None:
        """The group of that name, None if nothing is declared for it and no node is in it."""
        return self._groups.get(name)

    def obtain(self, name: str) -> Group:
        """The group of that name, made if it is not there."""
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = Group(
                name, self._keep, self._later, self._age, prune=self._prune, published=self._tell
            )
            if self._synced:
                group.publish(Snapshot(name, 0, self._clock()))
        return group

    def forget(self, name: str) -> None:
        """Drop a group for which nothing was ever declared; called when its last node has left."""
        group = self._groups.get(name)
        if group is not None and all(snapshot.seq == 0 for snapshot, _ in group.history()):
            del self._groups[name]
            self._tell(name)

    def _tell(self, name: str) -> None:
        for told in self._followers:
            told(name)

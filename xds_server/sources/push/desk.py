"""The push source: takes what owners say, and hands it over; ends sets whose leases run out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import quote
from weakref import WeakValueDictionary

import structlog

from xds_server.ir.declared import EncodedDocument, Unit
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.sources.base import Sink
from xds_server.sources.push.book import Book
from xds_server.sources.push.intake import Decode, check, read
from xds_server.sources.push.model import Changed, Limits, Name, Outcome, Place, Push, Said, Settled
from xds_server.sources.push.ties import Ties
from xds_server.wire.types import key_of

MOST_EXPIRED = 100
"""Leases that ran out and are still told of; of more the oldest are forgotten."""

_log = structlog.get_logger()


class PushSource:
    """Sets of resources that outside programs own. All calls belong on the event loop."""

    kind = "push"

    def __init__(self, name: str, decode: Decode, limits: Limits, expect: Sequence[str] = ()) -> None:
        """Take requests once `tie` was called; `expect` names the owners without whose sets it is not synced."""
        self.name = name
        self._decode = decode
        self._expect = frozenset(expect)
        self._book = Book(limits)
        self._ties: Ties | None = None
        self._sink: Sink | None = None
        self._locks: WeakValueDictionary[Place, asyncio.Lock] = WeakValueDictionary()
        self._expired: dict[Place, None] = {}
        self._wake = asyncio.Event()
        self._clock: Callable[[], float] = asyncio.get_running_loop().time

    def tie(self, ties: Ties) -> None:
        """Join it to the rest of the process, and have the sets in force that were so before."""
        self._ties = ties
        now = self._clock()
        for place, pushed in ties.restored.items():
            self._book.restore(place, pushed, now)

    async def run(self, sink: Sink) -> None:
        """Hand over what there is, say so, then end leases in time, until cancelled."""
        self._sink = sink
        for place, pushed in self._book.sets.items():
            sink.replace([_unit(place, document) for document in pushed.resources.values()])
        is_synced = False
        while True:
            if not is_synced and self._expect <= {place.owner for place in self._book.sets}:
                is_synced = True
                sink.synced()
            self._end_leases()
            self._wake.clear()
            due = self._book.next_expiry()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), None if due is None else max(0.0, due - self._clock()))

    async def put(self, place: Place, said: Said, actor: str) -> Outcome:
        """Replace an owner's set of a group whole.

        Raises:
            PushError: it is refused, and nothing has changed.
        """
        check(self.name, place, said, is_patch=False)
        return await self._take(self._book.put, place, said, actor)

    async def patch(self, place: Place, said: Said, actor: str) -> Outcome:
        """Change an owner's set of a group.

        Raises:
            PushError: it is refused, and nothing has changed.
        """
        check(self.name, place, said, is_patch=True)
        return await self._take(self._book.patch, place, said, actor)

    async def delete(self, place: Place, actor: str) -> Outcome:
        """Drop an owner's set of a group.

        Raises:
            NoSetError: there is none.
        """
        async with self._lock(place):
            changed = self._book.delete(place)
            self._apply(changed, actor, "dropped")
        return await self._outcome(changed)

    async def get(self, place: Place) -> Outcome:
        """What is in force of an owner's set of a group.

        Raises:
            NoSetError: there is none.
        """
        return await self._outcome(self._book.show(place))

    async def _take(
        self, ask: Callable[[Place, Push, float], Changed], place: Place, said: Said, actor: str
    ) -> Outcome:
        # One after the other, so that a slow request can't undo one that came after it.
        async with self._lock(place):
            if self._book.is_again(place, said):
                push = Push(said.version, lease=said.lease)
            else:
                push = await asyncio.to_thread(read, self.name, place, said, self._decode)
            changed = ask(place, push, self._clock())
            self._apply(changed, actor, f"version {said.version}")
        return await self._outcome(changed)

    def _lock(self, place: Place) -> asyncio.Lock:
        return self._locks.setdefault(place, asyncio.Lock())

    def _apply(self, changed: Changed, actor: str, reason: str) -> None:
        """Hand a change over, and tell of it; the change of a lease wakes the one who waits for its end."""
        self._wake.set()
        if self._ties is not None:
            self._ties.keep(changed)
        if not changed.is_new:
            return
        place = changed.place
        gone = [_key(place, name) for name in changed.removed]
        if place in self._expired:
            del self._expired[place]
            gone.append(_key(place))
        if self._sink is not None and (changed.set or gone):
            self._sink.replace([_unit(place, document) for document in changed.set.values()], gone)
        if self._ties is not None:
            self._ties.record(changed, actor, reason)
        _log.info(
            "pushed",
            owner=place.owner,
            group=place.group,
            version=changed.pushed.version if changed.pushed else None,
            changed=len(changed.set),
            removed=len(changed.removed),
            actor=actor,
        )

    def _end_leases(self) -> None:
        for changed in self._book.expire(self._clock()):
            place = changed.place
            self._apply(changed, "tidegate", "its lease ran out")
            _log.warning("push_lease_expired", owner=place.owner, group=place.group, version=changed.before)
            self._expired[place] = None
            gone = []
            while len(self._expired) > MOST_EXPIRED:
                oldest = next(iter(self._expired))
                del self._expired[oldest]
                gone.append(_key(oldest))
            if self._sink is not None:
                self._sink.replace([self._notice(changed)], gone)

    def _notice(self, changed: Changed) -> Unit:
        """That a lease ran out: a unit that declares nothing and stands until the owner comes back."""
        place = changed.place
        text = (
            f"the lease of version {changed.before!r} ran out: {len(changed.removed)} resources of owner"
            f" {place.owner!r} are gone from group {place.group!r}"
        )
        origin = Origin(self.name, place.owner, namespace=place.group)
        return Unit(_key(place), problems=(Problem(origin, "LeaseExpired", text),))

    async def _outcome(self, changed: Changed) -> Outcome:
        pushed, ties = changed.pushed, self._ties
        settled = await ties.settled(changed.place.group) if ties is not None else Settled()
        problems = ties.problems(changed) if ties is not None else ()
        counts = dict(sorted((+pushed.counts).items())) if pushed is not None else {}
        lease, expires = (pushed.lease, pushed.expires) if pushed is not None else (None, None)
        until = None if expires is None else time.time() + expires - self._clock()
        return Outcome(changed, counts, lease, until, settled.snapshot, settled.stored, problems)


def _key(place: Place, name: Name | None = None) -> str:
    """The unit of a resource, or of the set itself; quoted, so that no two are one."""
    key = f"{quote(place.owner, safe='')}/{quote(place.group, safe='')}"
    return key if name is None else f"{key}/{key_of(name[0])}/{name[1]}"


def _unit(place: Place, document: EncodedDocument) -> Unit:
    """The unit of a resource. One whose bytes were not stored is broken, so that its last good content stays."""
    key = _key(place, (document.type_url, document.name))
    if document.body:
        return Unit(key, (document,))
    text = "it holds a secret, so it was not stored (history.secrets): what is served of it stays until it is pushed"
    return Unit(key, problems=(Problem(document.origin, "NotStored", text),), broken=True)

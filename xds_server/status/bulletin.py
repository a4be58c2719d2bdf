"""What this replica tells the others: its share of each group, what it goes by for routes; who asks again gets what changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from uuid import uuid4

from xds_server.ir.facts import Conclusion, RouteKey
from xds_server.snapshot.groups import Groups
from xds_server.status.replicas import Report
from xds_server.status.share import NOTHING, Share, share_of
from xds_server.status.tracker import Tracker

PAUSE = 0.1
"""Seconds for which changes are gathered."""

AGAIN = 1.0
"""Seconds after which a group is looked at again in which not everything is accepted: not every way out of that is told."""

_SLICE = 0.002
"""Seconds of looking after which others get their turn."""

_PART = 20
"""Looking takes at most one part in so many of the time."""

_GONE_KEPT = 1_000
"""Groups and routes that are gone and still told of. Who was told less recently is told everything."""


Subject = str | RouteKey
"""What something is told of: a group by name, or a route."""


class Bulletin:
    """All calls belong on the event loop. Nothing is looked at while nobody asks."""

    def __init__(self, groups: Groups, tracker: Tracker, name: str, clock: Callable[[], float]) -> None:
        """Tell of these as the replica of that name; `clock` gives POSIX seconds."""
        self.name = name
        self.instance = uuid4().hex
        self.started = clock()
        self._groups = groups
        self._tracker = tracker
        self._opinion: Callable[[RouteKey], Conclusion | None] = lambda _route: None
        self._touched: set[Subject] = {group.name for group in groups}
        self._unsettled: set[Subject] = set()
        self._batch: list[Subject] = []
        """What is being looked at."""
        self._took = 0.0
        self._told: dict[Subject, Share | Conclusion] = {}
        self._seqs: dict[Subject, int] = {}
        """When it last changed, the newest last."""
        self._gone: dict[Subject, int] = {}
        self._seq = 0
        self._whole_before = 0
        """Who was told less than this is told everything."""
        self._is_leader: Callable[[], bool] = lambda: False
        self._leaving = False
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None
        self._pause = PAUSE
        self._rested = 0.0
        """When to look again at the earliest, by the loop's clock."""
        self._news = asyncio.Event()
        tracker.follow_moves(self.touch)
        groups.follow(self.touch)

    def share(self, group: str) -> Share:
        """How far a group has come by now on this replica."""
        return share_of(self._groups.get(group), self._tracker)

    def touch(self, group: str) -> None:
        """Note that something of a group may have changed."""
        self._touched.add(group)
        if self._waiting:
            self._look_within(self._pause)

    def ask_for_opinions(self, opinion: Callable[[RouteKey], Conclusion | None]) -> None:
        """Tell what `opinion` says of the routes that are touched."""
        self._opinion = opinion

    def touch_routes(self, routes: Iterable[RouteKey]) -> None:
        """Note that something else may be concluded of these than before."""
        self._touched.update(routes)
        if self._waiting and self._touched:
            self._look_within(self._pause)

    def lead(self, is_leader: Callable[[], bool]) -> None:
        """Tell whether this replica is the leader; each answer says so as it is then."""
        self._is_leader = is_leader

    async def leave(self) -> None:
        """Tell for the last time: this process ends, and its streams have."""
        await self._look_at_all()
        self._leaving = True
        self._wake()

    async def report(self, instance: str, after: int, within: float) -> Report:
        """What has changed after the report `after` of that instance, as soon as something has, at the latest `within` seconds.

        To whom another instance told something, or nobody did, or who asks after too long: everything, at once.
        """
        if self._batch or (self._touched and asyncio.get_running_loop().time() >= self._rested):
            await self._look_at_all()
        is_known = instance == self.instance and self._whole_before <= after <= self._seq
        if is_known:
            self._waiting += 1
            try:
                await self._wait(after, within)
            finally:
                self._waiting -= 1
        return self._since(after if is_known and after >= self._whole_before else None)

    async def _wait(self, after: int, within: float) -> None:
        self._arrange()
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._seq <= after and not self._leaving:
                    await self._news.wait()

    def _since(self, after: int | None) -> Report:
        found: dict[Subject, Share | Conclusion | None] = {}
        if after is None:
            found.update(self._told)
        else:
            for seqs in (self._seqs, self._gone):
                for subject in reversed(seqs):
                    if seqs[subject] <= after:
                        break
                    found[subject] = self._told.get(subject)
        head = (self.name, self.instance, self.started, self._seq)
        shares: dict[str, Share] = {}
        opinions: dict[RouteKey, Conclusion | None] = {}
        for subject, told in found.items():
            if isinstance(subject, RouteKey):
                opinions[subject] = told if isinstance(told, Conclusion) else None
            else:
                shares[subject] = told if isinstance(told, Share) else NOTHING
        return Report(*head, after is None, shares, opinions, self._is_leader(), self._leaving)

    def _arrange(self) -> None:
        """Have somebody look, where there is anybody to tell and something to look at."""
        if self._waiting and self._touched:
            self._look_within(self._pause)
        elif self._waiting and self._unsettled:
            self._look_within(AGAIN)

    def _look_within(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.when() > loop.time() + seconds:
            self._stop_timer()
            self._timer = loop.call_later(seconds, self._look)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Look at what was touched before, for a moment; at the rest a little later, when others had their turn."""
        self._stop_timer()
        if not self._batch:
            self._batch, self._took = [*self._touched, *(self._unsettled - self._touched)], 0.0
            self._touched, self._unsettled = set(), set()
        since, is_news = time.perf_counter(), False
        while self._batch and time.perf_counter() - since < _SLICE:
            is_news |= self._look_at(self._batch.pop())
        self._took += time.perf_counter() - since
        if is_news:
            self._wake()
        if self._batch:
            self._timer = asyncio.get_running_loop().call_later(0, self._look)
            return
        self._pause = max(PAUSE, _PART * self._took)
        self._rested = asyncio.get_running_loop().time() + self._pause
        self._arrange()

    def _look_at(self, subject: Subject) -> bool:
        """Whether there is anything new to tell of a group or a route."""
        found: Share | Conclusion | None
        if isinstance(subject, RouteKey):
            found = self._opinion(subject)
        else:
            share = self.share(subject)
            found = share if share != NOTHING else None
            if not share.is_settled:
                self._unsettled.add(subject)
        is_news = found != self._told.get(subject)
        if is_news:
            self._note(subject, found)
        return is_news

    async def _look_at_all(self) -> None:
        self._look()
        while self._batch:
            await asyncio.sleep(0)
            self._look()

    def _note(self, subject: Subject, found: Share | Conclusion | None) -> None:
        self._seqs.pop(subject, None)
        self._gone.pop(subject, None)
        if found is not None:
            self._told[subject], self._seqs[subject] = found, self._seq + 1
            return
        del self._told[subject]
        self._gone[subject] = self._seq + 1
        if len(self._gone) > _GONE_KEPT:
            oldest = next(iter(self._gone))
            self._whole_before = self._gone.pop(oldest)

    def _wake(self) -> None:
        self._seq += 1
        self._news.set()
        self._news = asyncio.Event()

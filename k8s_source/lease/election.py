"""The election, as it goes on: looks, writes and waits for its elector, and runs what only the leader runs.

kubernetes-asyncio has a loop of its own; it decides by wall-clock time, never releases, and can't be told to stop. Its
`LeaseLock` can't write a record without a holder, which a release is, and counts no transitions.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from k8s_source.client.errors import ApiError
from k8s_source.lease.elector import JITTER, Elector, Timings, Write
from k8s_source.lease.lock import Lock

_log = structlog.get_logger(__name__)


def own_identity() -> str:
    """A name of this process that no other one has, its host's name first, as client-go's users make it."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def elapsed() -> float:
    """Seconds of a clock that never goes back, and that goes on while the machine sleeps, where it has one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Election:
    """One replica's part in the election. All calls belong on the event loop's thread.

    Args:
        lock: What the replicas compete for.
        timings: In seconds; the same for all replicas.
        identity: A name that no other replica has, nor had.
        lead: Runs while this replica leads, and is cancelled when it does no more. What it leaves running until it has
            ended holds up the release, so no two replicas work at a time.
        clock: Seconds that never go back.
        wall: POSIX time, to be written down only.
        chance: Numbers from 0 to 1, for jitter.
    """

    def __init__(
        self,
        lock: Lock,
        timings: Timings,
        identity: str,
        lead: Callable[[], Coroutine[Any, Any, None]],
        *,
        clock: Callable[[], float] = elapsed,
        wall: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._lock = lock
        self._timings = timings
        self._lead = lead
        self._clock = clock
        self._wall = wall
        self._chance = chance
        self._elector = Elector(identity, timings)
        self._told = ""  # the leader that was logged last
        self._fails = False

    @property
    def identity(self) -> str:
        """The name of this replica."""
        return self._elector.identity

    @property
    def leader(self) -> str:
        """The name of the leader, as far as is known; "" for none."""
        return self._elector.leader

    def is_leader(self) -> bool:
        """Whether this replica may write at this moment, by the clock: ask before each write."""
        return self._elector.is_leader(self._clock())

    def remaining(self) -> float:
        """For how many seconds it may for certain; no write should take longer."""
        return self._elector.remaining(self._clock())

    async def run(self) -> None:
        """Compete, lead, compete again, until cancelled; then what only the leader runs ends, and the lease is released.

        Raises what `lead` raises, with the lease released.
        """
        while True:
            await self._acquire()
            try:
                await self._hold()
            except BaseException:
                await self._release()
                raise

    async def _acquire(self) -> None:
        while True:
            if await self._try():
                return
            await asyncio.sleep(self._timings.retry_period * (1 + JITTER * self._chance()))

    async def _hold(self) -> None:
        """Lead until that is over."""
        _log.info("leading", identity=self.identity)
        lead = asyncio.create_task(self._lead(), name="lead")
        try:
            await self._renew(lead)
            _log.warning("leadership_lost", identity=self.identity, leader=self.leader)
        finally:
            self._elector.resign()
            await self._end(lead)

    async def _renew(self, lead: asyncio.Task[None]) -> None:
        term = self._elector.term
        while (remaining := self.remaining()) and self._elector.term == term:
            await asyncio.wait({lead}, timeout=min(self._timings.retry_period, remaining))
            if lead.done():
                lead.result()
                raise RuntimeError("what leads has ended by itself")
            if self.is_leader():
                await self._try()

    async def _end(self, lead: asyncio.Task[None]) -> None:
        """Wait for the leader's work to end, however long that takes: it must not run beside the next one's here."""
        lead.cancel()
        spare = self._timings.lease_duration - self._timings.renew_deadline
        _, pending = await asyncio.wait({lead}, timeout=spare)
        if pending:
            _log.warning("leaders_work_outlasts_lease", identity=self.identity)
            await asyncio.wait({lead})
        if not lead.cancelled():
            lead.result()

    async def _try(self) -> bool:
        """One round of looking and writing; whether this replica leads afterwards."""
        limit = min(self._timings.call_timeout, self.remaining() or self._timings.call_timeout)
        try:
            async with asyncio.timeout(limit):
                await self._settle(self._step)
        except (ApiError, TimeoutError) as error:
            self._failed(error)
        else:
            self._fails = False
        if self.leader != self._told:
            self._told = self.leader
            _log.info("leader", leader=self.leader, identity=self.identity)
        return self.is_leader()

    async def _settle(self, step: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Take a step; where somebody was first, look at once what is there now, and take it again."""
        try:
            await step()
        except ApiError as error:
            if not error.is_conflict:
                raise
            await step()

    async def _step(self) -> None:
        if self._elector.must_look(self._clock()):
            await self._look()
        await self._write(self._elector.next_write(self._clock(), self._wall()))

    async def _look(self) -> None:
        self._elector.saw(await self._lock.get(), self._clock())

    async def _write(self, write: Write | None) -> None:
        if write is None:
            return
        began = self._clock()
        self._elector.unsure()  # until there is an answer
        if write.over is None:
            seen = await self._lock.create(write.record)
        else:
            seen = await self._lock.update(write.over, write.record)
        self._elector.wrote(seen, began)

    async def _release(self) -> None:
        self._elector.resign()
        try:
            async with asyncio.timeout(self._timings.call_timeout):
                await self._settle(self._let_go)
        except (ApiError, TimeoutError) as error:
            self._failed(error)
        else:
            _log.info("lease_released", identity=self.identity)

    async def _let_go(self) -> None:
        await self._look()
        await self._write(self._elector.release(self._wall()))

    def _failed(self, error: Exception) -> None:
        """Tell the first failure in a row: the next ones say nothing new."""
        if not self._fails:
            _log.warning("lease_not_renewed", identity=self.identity, error=str(error) or "no answer in time")
        self._fails = True

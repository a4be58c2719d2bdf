"""A controller: calls `reconcile` for each key of its queue, with a bounded number of them at a time.

What controller-runtime does in pkg/internal/controller/controller.go; the queue decides, this shell has the tasks and the
one timer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic

import structlog

from k8s_source.workqueue.meter import Meter, Outcome
from k8s_source.workqueue.queue import K, Running, WorkQueue
from k8s_source.workqueue.rate import Limits
from k8s_source.workqueue.result import PermanentError, Result, RetryableError

_SOONEST = 0.001
"""Seconds: the resolution of the loop's timers."""

_log = structlog.get_logger(__name__)


class Controller(Generic[K]):
    """Works on keys while `run` runs; what is added before, or between two runs, waits.

    Args:
        name: In metrics and logs.
        reconcile: Brings about what one key asks for. It may be called any number of times, never twice at a time for a key.
        meter: Where to count.
        workers: How many keys are worked on at a time.
        limits: How failed keys are tried again.
        grace: Seconds that work which goes on has to end once `run` is cancelled.
        clock: Seconds that never go back; not the loop's, which stands still while a callback runs (uvloop).
    """

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[Result]],
        meter: Meter,
        *,
        workers: int = 1,
        limits: Limits | None = None,
        grace: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.workers = workers
        self._reconcile = reconcile
        self._meter = meter
        self._grace = grace
        self._now = clock
        self._queue: WorkQueue[K] = WorkQueue(name, meter, limits)
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None  # while it runs
        self._timer: asyncio.TimerHandle | None = None
        self._due: float | None = None  # when the timer ends

    @property
    def depth(self) -> int:
        """How many keys wait for a worker."""
        return self._queue.depth

    def running(self) -> Running:
        """What is worked on now."""
        return self._queue.running(self._now())

    def add(self, key: K) -> None:
        """Have a key worked on; to be called on the event loop's thread."""
        self._queue.add(key, self._now())
        self._pump()

    def add_after(self, key: K, delay: float) -> None:
        """Have a key worked on in `delay` seconds, or earlier where that was asked for before."""
        self._queue.add_after(key, delay, self._now())
        self._pump()

    async def run(self) -> None:
        """Work until cancelled. Then nothing new begins, and what goes on has `grace` seconds to end.

        What had to be cut off waits again, for the next run.
        """
        self._loop = asyncio.get_running_loop()
        self._pump()
        try:
            await self._loop.create_future()
        finally:
            self._loop = None
            self._set_timer(None)
            await self._drain()

    def _pump(self) -> None:
        """Give work to the workers that are free, and look when there is more of it."""
        loop = self._loop
        if loop is None:
            return
        while len(self._tasks) < self.workers and (key := self._queue.take(self._now())) is not None:
            task = loop.create_task(self._work(key), name=f"{self.name} {key}")
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        # With no worker free the end of the next work looks.
        self._set_timer(self._queue.next_due() if len(self._tasks) < self.workers else None)

    def _set_timer(self, due: float | None) -> None:
        if due == self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due, self._timer = due, None
        if due is not None and self._loop is not None:
            # uvloop's timers end up to half a millisecond early: what is not ripe then is not asked for over and over.
            self._timer = self._loop.call_later(max(due - self._now(), _SOONEST), self._ripe)

    def _ripe(self) -> None:
        self._due = None
        self._pump()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._pump()

    async def _work(self, key: K) -> None:
        began = self._now()
        try:
            outcome = await self._try(key)
            self._meter.reconciled(self.name, outcome, self._now() - began)
        except asyncio.CancelledError:
            self._queue.add(key, self._now())
            raise
        finally:
            self._queue.done(key, self._now())

    async def _try(self, key: K) -> Outcome:
        try:
            return self._settle(key, await self._reconcile(key))
        except RetryableError as error:
            delay = self._queue.retry(key, self._now(), error.after)
            _log.warning("reconcile_retried", **self._told(key), error=str(error), after_s=round(delay, 3))
        except PermanentError as error:
            self._queue.forget(key)
            _log.warning("reconcile_given_up", **self._told(key), reason=error.reason, error=error.message)
            return Outcome.TERMINAL
        except Exception:  # noqa: BLE001  # a task's boundary; a fault of ours is tried again, too: the next state may have none of it
            self._queue.retry(key, self._now())
            _log.exception("reconcile_failed", **self._told(key))
        return Outcome.ERROR

    def _settle(self, key: K, result: Result) -> Outcome:
        if result.requeue_after is None:
            self._queue.forget(key)
            return Outcome.SUCCESS
        if result.requeue_after <= 0:
            self._queue.retry(key, self._now())
            return Outcome.REQUEUE
        self._queue.forget(key)
        self._queue.add_after(key, result.requeue_after, self._now())
        return Outcome.REQUEUE_AFTER

    def _told(self, key: K) -> dict[str, object]:
        return {"controller": self.name, "key": str(key), "failures": self._queue.failures(key)}

    async def _drain(self) -> None:
        """Wait for what goes on, then cut it off."""
        if not self._tasks:
            return
        try:
            await asyncio.wait(self._tasks, timeout=self._grace)
        finally:
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

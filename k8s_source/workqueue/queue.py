"""The keyed queue, as a state machine without I/O: it is told what time it is, and tells what is to be done.

The rules are those of client-go's workqueue (util/workqueue/queue.go, delaying_queue.go, rate_limiting_queue.go):

- A key waits once, however often it is added.
- A key that is added while it is worked on is worked on again afterwards; never twice at a time.
- Keys are taken in the order in which they were added. One that is added again goes to the end, so a key that never
  comes to rest takes its turn, and no more.
- Of several delays of one key the one that ends first counts. A plain `add` ends no delay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from k8s_source.workqueue.meter import Meter
from k8s_source.workqueue.rate import Bucket, Limits

K = TypeVar("K", bound=Hashable)

_SLACK = 64
"""Delays in the heap that count no more, beyond as many as do, before it is made anew."""


class Running(NamedTuple):
    """The work that goes on: pieces, the seconds of all of them together, and of the longest."""

    pieces: int
    unfinished: float
    longest: float


class WorkQueue(Generic[K]):
    """Keys that wait, now or later, and those that are worked on. Times are seconds of one clock that never goes back."""

    def __init__(self, name: str, meter: Meter, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self._name = name
        self._meter = meter
        self._backoff = limits.backoff
        self._bucket = Bucket(limits.rate, limits.burst)
        self._failures: dict[K, int] = {}
        self._order: deque[K] = deque()
        self._added: dict[K, float] = {}  # what waits: in `_order`, or until its work ends
        self._running: dict[K, float] = {}
        self._later: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = count()

    @property
    def depth(self) -> int:
        """How many keys could be taken now, but for those whose delay has just ended."""
        return len(self._order)

    def running(self, now: float) -> Running:
        """What is worked on at this moment."""
        ages = [now - since for since in self._running.values()]
        return Running(len(ages), sum(ages), max(ages, default=0.0))

    def add(self, key: K, now: float) -> None:
        """Have a key worked on."""
        self._ripen(now)
        self._add(key, now)

    def add_after(self, key: K, delay: float, now: float) -> None:
        """Have a key worked on in `delay` seconds; at once when that is not above 0."""
        self._ripen(now)
        if delay <= 0:
            self._add(key, now)
            return
        due = now + delay
        if due < self._later.get(key, float("inf")):
            self._later[key] = due
            heappush(self._heap, (due, next(self._sequence), key))
            self._tidy()

    def retry(self, key: K, now: float, at_least: float = 0.0) -> float:
        """Have a key worked on again after its back-off, the bucket's delay, or `at_least`: the longest of them."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = max(self._backoff.delay(failures), self._bucket.reserve(now), at_least)
        self._meter.work_retried(self._name)
        self.add_after(key, delay, now)
        return delay

    def forget(self, key: K) -> None:
        """Have the key's next back-off begin anew."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often a key was tried again since it was last forgotten."""
        return self._failures.get(key, 0)

    def take(self, now: float) -> K | None:
        """The key whose turn it is; its work goes on until `done`. None when nothing waits."""
        self._ripen(now)
        if not self._order:
            return None
        key = self._order.popleft()
        self._running[key] = now
        self._meter.work_started(self._name, now - self._added.pop(key))
        return key

    def done(self, key: K, now: float) -> None:
        """The work on a key has ended. Raises KeyError when there was none."""
        self._ripen(now)
        self._meter.work_ended(self._name, now - self._running.pop(key))
        if key in self._added:
            self._order.append(key)

    def next_due(self) -> float | None:
        """When the next delay ends."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else None

    def _add(self, key: K, now: float) -> None:
        if key in self._added:
            return
        self._added[key] = now
        self._meter.work_added(self._name)
        if key not in self._running:
            self._order.append(key)

    def _ripen(self, now: float) -> None:
        """Add what is due, in the order of its time."""
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heappop(self._heap)
            if self._later.get(key) == due:
                del self._later[key]
                self._add(key, due)

    def _drop_stale(self) -> None:
        while self._heap and self._later.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)

    def _tidy(self) -> None:
        if len(self._heap) > 2 * len(self._later) + _SLACK:
            self._heap = [each for each in self._heap if self._later.get(each[2]) == each[0]]
            heapify(self._heap)

"""Who leads, as a state machine without I/O: what a candidate may write, and until when it is the leader.

The rules are those of client-go (tools/leaderelection/leaderelection.go), with two that are stricter:

- A leader counts from before it sent its last renewal that went well, not from the answer: whoever sees that renewal
  sees it later. It is the leader for `renew_deadline` from then on; others wait for `lease_duration` from when they saw
  it. Both are counted by each one's own clock that never goes back, so wall clocks may differ by any amount.
- It stops being the leader by the clock alone. Nothing has to run at that moment, so a process that was stopped for a minute
  is no leader when it goes on.

Clocks of two machines must run at nearly the same rate: with the defaults the leader's may be slower by a third.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from k8s_source.client.times import micro_time
from k8s_source.lease.record import Record, Seen

JITTER = 1.2
"""Candidates wait up to so many retry periods longer (client-go's `JitterFactor`)."""


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds; the defaults of client-go's users. Raises ValueError when a leader could outlast its lease."""

    lease_duration: float = 15.0
    """So long after its last renewal was seen others take a lease over; whole seconds."""
    renew_deadline: float = 10.0
    """A leader that has not renewed for so long is none."""
    retry_period: float = 2.0
    """Between two tries."""

    def __post_init__(self) -> None:
        """The rules of client-go's `NewLeaderElector`."""
        if self.lease_duration < 1 or self.lease_duration % 1:
            raise ValueError("lease_duration must be whole seconds")
        if self.lease_duration <= self.renew_deadline:
            raise ValueError("lease_duration must be more than renew_deadline")
        if self.retry_period <= 0 or self.renew_deadline <= JITTER * self.retry_period:
            raise ValueError(f"renew_deadline must be more than {JITTER:g} times retry_period, which must be above 0")

    @property
    def call_timeout(self) -> float:
        """For one request: half of the deadline, so that a renewal that hangs leaves time for another one."""
        return self.renew_deadline / 2


@dataclass(frozen=True, slots=True)
class Write:
    """A record to write: over what was seen, or None to make the lease."""

    record: Record
    over: Seen | None


class Elector:
    """One candidate. `now` is a clock that never goes back, `wall` is POSIX time, which is only written down.

    `term` rises each time that it becomes the leader: what was begun in an earlier term is over.
    """

    def __init__(self, identity: str, timings: Timings) -> None:
        if not identity:
            raise ValueError("a candidate needs an identity")
        self.identity = identity
        self.term = 0
        self._timings = timings
        self._seen: Seen | None = None
        self._seen_at = 0.0
        self._knows = False  # whether `_seen` is what is there, as far as anybody can tell
        self._renewed: float | None = None  # since when the last renewal counts; None: not the leader

    @property
    def leader(self) -> str:
        """Who holds the lease, as far as was seen; "" for nobody."""
        return self._seen.record.holder if self._seen is not None else ""

    def remaining(self, now: float) -> float:
        """For how many seconds this candidate is the leader for certain; 0 when it is none."""
        if self._renewed is None:
            return 0.0
        return max(0.0, self._renewed + self._timings.renew_deadline - now)

    def is_leader(self, now: float) -> bool:
        """Whether this candidate may act as the leader at this moment."""
        return self.remaining(now) > 0

    def must_look(self, now: float) -> bool:
        """Whether to read the lease before anything is written. A leader renews what it wrote itself."""
        return not (self._knows and self.is_leader(now))

    def saw(self, seen: Seen | None, now: float) -> None:
        """This is what the lease says; `now` is after the answer came."""
        if seen is None or self._seen is None or seen.record != self._seen.record:
            self._seen_at = now
        if seen is None or seen.record.holder != self.identity:
            self._renewed = None
        self._seen = seen
        self._knows = True

    def next_write(self, now: float, wall: float) -> Write | None:
        """What to write: a lease where there is none, a renewal of one's own, or over one that is over.

        None when somebody else holds it, or `must_look`.
        """
        if not self._knows:
            return None
        at = micro_time(wall)
        fresh = Record(self.identity, int(self._timings.lease_duration), at, at, 0)
        if self._seen is None:
            return Write(fresh, None)
        held = self._seen.record
        if held.holder == self.identity:
            return Write(replace(fresh, acquired=held.acquired, transitions=held.transitions), self._seen)
        if held.holder and now < self._seen_at + held.duration:
            return None
        return Write(replace(fresh, transitions=held.transitions + 1), self._seen)

    def wrote(self, seen: Seen, began: float) -> None:
        """A write went well, and this is what is there now; `began` is before it was sent."""
        self._seen, self._seen_at, self._knows = seen, began, True
        if seen.record.holder != self.identity:
            self._renewed = None
            return
        if not self.is_leader(began):
            self.term += 1
        self._renewed = began

    def unsure(self) -> None:
        """A write failed, or was not answered: it may have been done, or will be. The next step is to look."""
        self._knows = False

    def resign(self) -> None:
        """Be the leader no more, whatever the lease says."""
        self._renewed = None

    def release(self, wall: float) -> Write | None:
        """What to write so that the next one need not wait; None when the lease is not ours, or not known to be.

        As client-go's `release` has it: no holder, for a second.
        """
        if not self._knows or self._seen is None or self._seen.record.holder != self.identity:
            return None
        at = micro_time(wall)
        return Write(Record("", 1, at, at, self._seen.record.transitions), self._seen)

"""The queue against a model: no key is lost, none is worked on twice at a time, and all have their turn."""

from __future__ import annotations

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from k8s_source.workqueue.queue import WorkQueue
from k8s_source.workqueue.rate import Backoff, Limits
from tests.support.counts import long_or_short
from tests.support.working import Counting

KEYS = st.sampled_from("abcdef")
EXACT = Limits(Backoff(jitter=0))


def queue() -> WorkQueue[str]:
    return WorkQueue("q", Counting(), EXACT)


class AgainstModel(RuleBasedStateMachine):
    """The model: what was asked for and when it's due, in order; a slow list in place of heap, deque and dicts."""

    @initialize()
    def begin(self) -> None:
        self.now = 100.0
        self.meter = Counting()
        self.queue: WorkQueue[str] = WorkQueue("q", self.meter, EXACT)
        self.waiting: list[str] = []  # in order; also those whose key is worked on
        self.later: dict[str, float] = {}
        self.running: set[str] = set()
        self.failures: dict[str, int] = {}
        self.turn: list[str] = []

    def ripen(self) -> None:
        for key, due in sorted(self.later.items(), key=lambda each: each[1]):
            if due <= self.now:
                del self.later[key]
                self.want(key)

    def want(self, key: str) -> None:
        if key not in self.waiting:
            self.waiting.append(key)
            if key not in self.running:
                self.turn.append(key)

    def put_off(self, key: str, due: float) -> None:
        if due < self.later.get(key, float("inf")):
            self.later.pop(key, None)  # of equal times the one that was asked for first comes first
            self.later[key] = due

    @rule(seconds=st.floats(0.001, 20))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.queue.add(key, self.now)
        self.ripen()
        self.want(key)

    @rule(key=KEYS, delay=st.integers(-1, 30))
    def add_after(self, key: str, delay: int) -> None:
        self.queue.add_after(key, delay, self.now)
        self.ripen()
        if delay <= 0:
            self.want(key)
        else:
            self.put_off(key, self.now + delay)

    @rule(key=KEYS, at_least=st.sampled_from([0.0, 3.0]))
    def retry(self, key: str, at_least: float) -> None:
        delay = self.queue.retry(key, self.now, at_least)
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        assert delay >= max(at_least, min(0.005 * 2**failures, 1000))
        self.ripen()
        self.put_off(key, self.now + delay)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.failures.pop(key, None)

    @rule()
    def take(self) -> None:
        taken = self.queue.take(self.now)
        self.ripen()
        assert taken == (self.turn[0] if self.turn else None)
        if taken is not None:
            assert taken not in self.running
            self.turn.remove(taken)
            self.waiting.remove(taken)
            self.running.add(taken)

    @precondition(lambda self: self.running)
    @rule(number=st.integers(0, 5))
    def done(self, number: int) -> None:
        key = sorted(self.running)[number % len(self.running)]
        self.queue.done(key, self.now)
        self.ripen()
        self.running.remove(key)
        if key in self.waiting:
            self.turn.append(key)

    @invariant()
    def same(self) -> None:
        assert self.queue.running(self.now).pieces == len(self.running)
        assert self.queue.next_due() == min(self.later.values(), default=None)
        assert self.queue.depth == len(self.turn)
        assert all(self.queue.failures(key) == count for key, count in self.failures.items())

    def teardown(self) -> None:
        """Whatever happened, all that was asked for is worked on once everybody goes on."""
        if not hasattr(self, "queue"):
            return
        wanted = set(self.waiting) | set(self.later)
        self.now += 2000
        for key in self.running:
            self.queue.done(key, self.now)
        seen = []
        while (taken := self.queue.take(self.now)) is not None:
            seen.append(taken)
        assert sorted(seen) == sorted(wanted)


TestAgainstModel = AgainstModel.TestCase
TestAgainstModel.settings = settings(max_examples=long_or_short(150, 40), stateful_step_count=40, deadline=None)


def test_a_hot_key_takes_its_turn_and_no_more() -> None:
    work = queue()
    others = [f"k{number}" for number in range(50)]
    work.add("hot", 0)
    for key in others:
        work.add(key, 0)
    served = []
    for step in range(102):
        taken = work.take(step)
        assert taken is not None
        work.add("hot", step)  # all the time, while it is worked on too
        work.done(taken, step)
        served.append(taken)
    assert served[1:51] == others
    assert served.count("hot") == 52  # alone at the end


def test_equal_times_keep_the_order_of_their_asking() -> None:
    work = queue()
    for key in "cab":
        work.add_after(key, 5, 0)
    assert [work.take(5) for _ in range(4)] == ["c", "a", "b", None]


def test_earlier_and_earlier_delays_leave_nothing_behind() -> None:
    work = queue()
    for step in range(100_000):
        work.add_after("a", 1_000_000 - step, 0)
    assert len(work._heap) < 100
    assert work.next_due() == 900_001


def test_what_metrics_are_told() -> None:
    meter = Counting()
    work: WorkQueue[str] = WorkQueue("q", meter, EXACT)
    work.add("a", 0)
    work.add("a", 1)
    work.add("b", 1)
    assert work.take(3) == "a"
    assert work.take(4) == "b"
    work.add("a", 4)
    assert work.running(6) == (2, 5, 3)
    work.done("a", 7)
    work.retry("b", 7)
    work.done("b", 7)
    assert work.take(9) == "a"
    assert (meter.added, meter.retried) == ({"q": 4}, {"q": 1})  # the retry is an add once it's due
    assert meter.waits == [3, 3, 5]
    assert meter.took == [4, 3]


def test_done_without_work_is_a_fault() -> None:
    with pytest.raises(KeyError):
        queue().done("a", 0)

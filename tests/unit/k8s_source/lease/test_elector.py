"""Who leads: never two, whatever clocks, delays and failures do; and somebody, once all goes well."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from k8s_source.client.errors import ApiError
from k8s_source.client.times import micro_time
from k8s_source.lease.elector import Elector, Timings, Write
from k8s_source.lease.record import Record, Seen, decode, encode
from tests.support.counts import long_or_short
from tests.support.leases import Store

TIMINGS = Timings()
OTHERS = Record("b", 15, "t0", "t1", 3)


@dataclass
class Call:
    """A request on its way: `write` None is a look. `applied` is what the store answered, once it has done it."""

    write: Write | None
    began: float
    done: bool = False
    found: Seen | None = None
    refused: bool = False


class Replica:
    """A candidate with clocks of its own: monotonic ones begin anywhere, wall clocks tell anything."""

    def __init__(self, name: str, offset: float, skew: float) -> None:
        self.elector = Elector(name, TIMINGS)
        self.offset = offset
        self.skew = skew
        self.call: Call | None = None


class NeverTwo(RuleBasedStateMachine):
    """Replicas take steps in any order. Requests are done late, twice asked for, lost on either way, or given up."""

    @initialize(offsets=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), skews=st.permutations([-86400, 0, 1e7]))
    def begin(self, offsets: list[float], skews: list[float]) -> None:
        self.time = 0.0
        self.store = Store()
        self.replicas = [Replica(name, offset, skew) for name, offset, skew in zip("abc", offsets, skews, strict=True)]
        self.adrift: list[Call] = []  # given up by who sent them, and not done yet

    def now(self, replica: Replica) -> float:
        return self.time + replica.offset

    @rule(seconds=st.sampled_from([0.01, 2.0, 4.9, 5.1, 9.9, 15.0]))
    def time_passes(self, seconds: float) -> None:
        self.time += seconds

    @rule(number=st.integers(0, 2))
    def send(self, number: int) -> None:
        """The next step of a replica, as the election takes it."""
        replica = self.replicas[number]
        if replica.call is not None:
            return
        elector, now = replica.elector, self.now(replica)
        if elector.must_look(now):
            replica.call = Call(None, now)
        elif (write := elector.next_write(now, self.time + replica.skew)) is not None:
            elector.unsure()
            replica.call = Call(write, now)

    @rule(number=st.integers(0, 2))
    def look_then_write(self, number: int) -> None:
        """What was seen a while ago is acted on only now."""
        replica = self.replicas[number]
        write = replica.elector.next_write(self.now(replica), self.time + replica.skew)
        if replica.call is None and write is not None:
            replica.elector.unsure()
            replica.call = Call(write, self.now(replica))

    @rule(number=st.integers(0, 2), waits=st.sampled_from([0.0, 0.0, 4.9, 5.1]), is_answered=st.booleans())
    def attempt(self, number: int, *, waits: float, is_answered: bool) -> None:
        """A look and, some time later, a write that may hang: what most steps come to."""
        self.send(number)
        self.answer(number)
        self.time += waits
        self.look_then_write(number)
        if is_answered:
            self.answer(number)

    @rule(number=st.integers(0, 2), waits=st.sampled_from([0.2, 5.0, 9.9, TIMINGS.lease_duration]))
    def takes_its_time(self, number: int, waits: float) -> None:
        """A candidate that looks, waits for the end of the lease it saw or less, and would take it."""
        self.send(number)
        self.answer(number)
        self.time += waits
        self.look_then_write(number)
        self.answer(number)

    @rule(number=st.integers(0, 2))
    def arrive(self, number: int) -> None:
        if (call := self.replicas[number].call) is not None:
            self.do(call)

    @rule(number=st.integers(0, 2))
    def answer(self, number: int) -> None:
        replica = self.replicas[number]
        if (call := replica.call) is None:
            return
        self.do(call)
        replica.call = None
        if call.refused:
            return
        if call.write is None:
            replica.elector.saw(call.found, self.now(replica))
        else:
            assert call.found is not None
            replica.elector.wrote(call.found, call.began)

    @rule(number=st.integers(0, 2), lost=st.booleans())
    def give_up(self, number: int, *, lost: bool) -> None:
        """The answer does not come in time; the request may be done later all the same."""
        replica = self.replicas[number]
        if replica.call is not None and not replica.call.done and not lost:
            self.adrift.append(replica.call)
        replica.call = None

    @rule()
    def late_arrival(self) -> None:
        if self.adrift:
            self.do(self.adrift.pop(0))

    @rule(number=st.integers(0, 2))
    def crash(self, number: int) -> None:
        """A new process takes its place, under a name of its own."""
        old = self.replicas[number]
        if old.call is not None and not old.call.done:
            self.adrift.append(old.call)
        self.replicas[number] = Replica(old.elector.identity + "'", old.offset, old.skew)

    @rule(number=st.integers(0, 2))
    def release(self, number: int) -> None:
        replica = self.replicas[number]
        if replica.call is None and replica.elector.is_leader(self.now(replica)):
            replica.elector.resign()
            write = replica.elector.release(self.time + replica.skew)
            if write is not None:
                replica.elector.unsure()
                replica.call = Call(write, self.now(replica))

    def do(self, call: Call) -> None:
        if call.done:
            return
        call.done = True
        if call.write is None:
            call.found = self.store.read()
            return
        try:
            call.found = self.store.write(call.write.over, call.write.record)
        except ApiError:
            call.refused = True

    @invariant()
    def never_two(self) -> None:
        leaders = [each.elector.identity for each in self.replicas if each.elector.is_leader(self.now(each))]
        assert len(leaders) <= 1, leaders

    @invariant()
    def the_leader_holds_the_lease(self) -> None:
        for each in self.replicas:
            if each.elector.is_leader(self.now(each)):
                assert self.store.seen is not None
                assert self.store.seen.record.holder == each.elector.identity

    @invariant()
    def transitions_count_holders(self) -> None:
        holders = [record.holder for record in self.store.history if record.holder]
        changes = sum(
            before.holder != after.holder and bool(after.holder)
            for before, after in zip(self.store.history, self.store.history[1:], strict=False)
        )
        if holders:
            assert self.store.history[-1].transitions == changes

    def teardown(self) -> None:
        """Whatever has happened: when all goes well again, one of them leads within a lease's time and a retry."""
        if not hasattr(self, "replicas"):
            return
        for each in self.replicas:
            each.call = None
        for _ in range(2):
            self.time += TIMINGS.lease_duration + 0.01
            for number in (0, 1, 2):
                for step in (self.send, self.answer, self.look_then_write, self.answer):
                    step(number)
        self.never_two()
        assert any(each.elector.is_leader(self.now(each)) for each in self.replicas)


TestNeverTwo = NeverTwo.TestCase
TestNeverTwo.settings = settings(max_examples=long_or_short(600, 150), stateful_step_count=50, deadline=None)


def elected(at: float = 100.0) -> Elector:
    """A leader since that time."""
    elector = Elector("a", TIMINGS)
    elector.saw(None, at)
    write = elector.next_write(at, 0)
    assert write is not None
    elector.wrote(Seen(write.record, b"1"), at)
    return elector


@pytest.mark.parametrize(
    ("lease", "deadline", "retry"), [(10, 10, 2), (15, 2.4, 2), (15.5, 10, 2), (0, 0, 0), (15, 10, 0)]
)
def test_timings_that_would_allow_two_leaders_are_refused(lease: float, deadline: float, retry: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        Timings(lease, deadline, retry)


def test_a_candidate_needs_a_name() -> None:
    with pytest.raises(ValueError, match="identity"):
        Elector("", TIMINGS)


def test_a_lease_that_is_not_there_is_made() -> None:
    elector = Elector("a", TIMINGS)
    assert elector.must_look(0)
    assert elector.next_write(0, 0) is None
    elector.saw(None, 0)
    assert elector.next_write(1, 86400.5) == Write(
        Record("a", 15, "1970-01-02T00:00:00.500000Z", "1970-01-02T00:00:00.500000Z", 0), None
    )
    assert not elector.is_leader(1)


def test_a_leader_counts_from_before_it_asked_and_stops_by_the_clock_alone() -> None:
    elector = elected(at=100)
    assert elector.remaining(101) == 9
    assert elector.is_leader(109.9)
    assert not elector.is_leader(110)  # whatever has run meanwhile
    assert not elector.is_leader(1000)
    assert elector.must_look(110)


def test_a_renewal_keeps_what_tells_of_the_beginning() -> None:
    elector = elected()
    assert not elector.must_look(102)
    write = elector.next_write(102, 86400)
    assert write is not None
    assert write.over is not None
    assert write.record == replace(write.over.record, renewed="1970-01-02T00:00:00.000000Z")
    elector.wrote(Seen(write.record, b"2"), 102)
    assert (elector.remaining(102), elector.term) == (10, 1)


def test_anothers_lease_is_waited_for_by_ones_own_clock() -> None:
    elector = Elector("a", TIMINGS)
    elector.saw(Seen(OTHERS, b"7"), 50)
    elector.saw(Seen(OTHERS, b"8"), 60)  # somebody set a label: that is no renewal
    assert elector.leader == "b"
    assert elector.next_write(64.9, 0) is None
    write = elector.next_write(65, 0)
    assert write is not None
    assert (write.record.holder, write.record.transitions) == ("a", 4)
    elector.saw(Seen(replace(OTHERS, renewed="t2"), b"9"), 66)
    assert elector.next_write(80, 0) is None


def test_the_holders_own_duration_counts() -> None:
    elector = Elector("a", TIMINGS)
    elector.saw(Seen(replace(OTHERS, duration=60), b"7"), 0)
    assert elector.next_write(59, 0) is None
    assert elector.next_write(60, 0) is not None


def test_a_released_lease_is_free_at_once() -> None:
    leader = elected()
    leader.resign()
    assert not leader.is_leader(100.1)
    write = leader.release(0)
    assert write is not None
    assert (write.record.holder, write.record.duration, write.record.transitions) == ("", 1, 0)
    leader.wrote(Seen(write.record, b"2"), 100.2)
    assert not leader.is_leader(100.3)
    assert leader.release(0) is None
    other = Elector("b", TIMINGS)
    other.saw(Seen(write.record, b"2"), 0)
    assert other.next_write(0, 0) is not None


def test_a_leader_that_sees_another_is_none() -> None:
    elector = elected()
    elector.unsure()
    assert elector.is_leader(101)
    assert elector.must_look(101)
    elector.saw(Seen(OTHERS, b"9"), 102)
    assert not elector.is_leader(102)


def test_a_write_of_ones_own_that_had_no_answer_does_not_make_a_leader() -> None:
    elector = Elector("a", TIMINGS)
    elector.saw(Seen(replace(OTHERS, holder="a"), b"9"), 5)
    assert not elector.is_leader(5)
    write = elector.next_write(5, 0)
    assert write is not None
    assert write.record.transitions == 3
    elector.wrote(Seen(write.record, b"10"), 5)
    assert elector.is_leader(6)


def test_leading_again_after_a_gap_is_another_term() -> None:
    elector = elected(at=100)
    elector.saw(elector._seen, 130)
    write = elector.next_write(130, 0)
    assert write is not None
    elector.wrote(Seen(write.record, b"2"), 130)
    assert elector.term == 2


def test_what_others_put_into_the_lease_comes_back() -> None:
    metadata = b'{"name":"tidegate","resourceVersion":"17","labels":{"team":"edge"}}'
    body = encode(OTHERS, metadata)
    assert decode(body) == Seen(OTHERS, metadata)


@pytest.mark.parametrize("spec", [b"", b',"spec":null', b',"spec":{"holderIdentity":null,"strategy":"x"}'])
def test_a_lease_that_says_nothing_is_nobodys(spec: bytes) -> None:
    seen = decode(b'{"kind":"Lease","metadata":{"name":"x"}' + spec + b"}")
    assert seen.record == Record("", 0, "", "", 0)


def test_times_have_six_digits() -> None:
    assert micro_time(0) == "1970-01-01T00:00:00.000000Z"

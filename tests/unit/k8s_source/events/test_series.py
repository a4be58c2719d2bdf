"""Series: what is written when, by client-go's times; and that nothing is counted wrong in the long run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings, strategies as st

from k8s_source.events.event import Event, Reference, Type, Write
from k8s_source.events.series import FINISH, REFRESH, SeriesBook

ONE = Event(Reference("v1", "Pod", "p", "ns", "u"), Type.WARNING, "Failed", "Try", "first")
MINUTE = 60.0
DAY = 1_700_000_000.0


def other(number: int) -> Event:
    return replace(ONE, reason=f"R{number}")


class Clocked:
    """A book with a clock, swept whenever that is due."""

    def __init__(self, most: int = 4096) -> None:
        self.now = 1000.0
        self.book = SeriesBook(self.now, most)
        self.writes: list[Write] = []

    def tell(self, event: Event = ONE) -> list[Write]:
        told = self.book.tell(event, self.now, DAY + self.now)
        self.writes += told
        return told

    def wait(self, seconds: float) -> list[Write]:
        end, found = self.now + seconds, []
        while self.book.due <= end:
            self.now = max(self.now, self.book.due)
            found += self.book.sweep(self.now)
        self.now = end
        self.writes += found
        return found


def test_the_second_one_makes_a_series_and_the_third_is_counted_only() -> None:
    clocked = Clocked()
    (first,) = clocked.tell()
    assert (first.count, first.series) == (1, None)
    clocked.wait(10)
    (second,) = clocked.tell(replace(ONE, note="second"))
    assert (second.name, second.count, second.last - second.at) == (first.name, 2, 10)
    assert second.event.note == "first"
    assert clocked.tell() == []


def test_a_series_comes_to_its_end_with_its_count() -> None:
    clocked = Clocked()
    for _ in range(5):
        clocked.tell()
        clocked.wait(10)
    (end,) = clocked.wait(2 * FINISH)
    assert (end.count, end.last - end.at) == (5, 40)
    (first,) = clocked.tell()
    assert (first.count, first.name != end.name) == (1, True)


def test_what_came_once_or_is_written_ends_without_a_word() -> None:
    clocked = Clocked()
    clocked.tell(other(1))
    clocked.tell(other(2))
    clocked.tell(other(2))
    assert clocked.wait(2 * FINISH) == []
    assert clocked.book._kept == {}


def test_a_series_that_goes_on_is_written_every_half_hour() -> None:
    clocked = Clocked()
    for _ in range(120):
        clocked.tell()
        clocked.wait(MINUTE)
    assert [write.count for write in clocked.writes] == [1, 2, 30, 60, 90, 120]


def test_what_is_seen_within_six_minutes_does_not_end() -> None:
    clocked = Clocked()
    for _ in range(10):
        clocked.tell()
        clocked.wait(FINISH - 1)
    assert len({write.name for write in clocked.writes}) == 1


def test_of_too_many_the_oldest_ends_before_its_time() -> None:
    clocked = Clocked(most=2)
    for _ in range(3):
        clocked.tell(other(1))
    clocked.tell(other(2))
    end, first = clocked.tell(other(3))
    assert (end.event.reason, end.count) == ("R1", 3)
    assert (first.event.reason, first.count) == ("R3", 1)
    assert len(clocked.book._kept) == 2


def test_names_differ_while_the_clock_stands_still_or_goes_back() -> None:
    book = SeriesBook(0)
    writes = [book.tell(other(number), 0, wall)[0] for number, wall in enumerate((5.0, 5.0, 4.0))]
    assert len({write.name for write in writes}) == 3


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, 100.0, 361.0, 900.0])), max_size=60))
def test_in_the_end_every_one_is_counted(steps: list[tuple[int, float]]) -> None:
    clocked = Clocked(most=3)
    told: Counter[str] = Counter()
    for number, seconds in steps:
        clocked.tell(other(number))
        told[f"R{number}"] += 1
        clocked.wait(seconds)
    clocked.wait(REFRESH + 2 * FINISH)
    newest: dict[str, Write] = {}
    for write in clocked.writes:
        before = newest.get(write.name)
        assert before is None or write.count > before.count  # never the same twice
        assert before is not None or write.count == 1
        newest[write.name] = write
    counted: Counter[str] = Counter()
    for write in newest.values():
        counted[write.event.reason] += write.count
    assert counted == told

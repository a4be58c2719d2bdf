"""The damping of a fleet's size, in virtual time: growth at once, shrinking late, and few changes in any storm."""

from __future__ import annotations

from hypothesis import given, strategies as st

from xds_server.status.fleet_size import PACE, RETURN_WITHIN, SHRINK_AFTER, TOLERATED, FleetSize

TICK = 0.05


class Story:
    """A fleet as time goes by; it is asked when it wants to be, and when somebody comes or goes."""

    def __init__(self, size: int = 1) -> None:
        self.fleet = FleetSize(size)
        self.now = 100.0
        self.connected = 0
        self.changes: list[tuple[float, int]] = []
        self._due: float | None = None

    def have(self, connected: int) -> int:
        self.connected = connected
        return self._step()

    def wait(self, seconds: float) -> int:
        end = self.now + seconds
        while self._due is not None and self._due <= end:
            self.now = max(self.now, self._due)
            self._step()
        self.now = end
        return self.fleet.size

    def _step(self) -> int:
        before = self.fleet.size
        self._due = self.fleet.step(self.connected, self.now)
        assert self._due is None or self._due > self.now, "asked again for nothing"
        if self.fleet.size != before:
            self.changes.append((self.now, self.fleet.size))
        return self.fleet.size


def test_who_joins_counts_at_once() -> None:
    story = Story()
    assert [story.have(connected) for connected in (1, 2, 3, 10, 11)] == [1, 2, 3, 10, 11]
    assert [story.have(12), story.wait(PACE)] == [11, 12], "less than a tenth more waits for a second"


def test_a_storm_of_joins_costs_few_changes_and_never_lets_a_tenth_more_through() -> None:
    story = Story()
    for connected in range(1, 1001):
        story.have(connected)
        story.wait(0.005)
        assert connected < story.fleet.size * (1 + TOLERATED)
    assert story.wait(PACE) == 1000
    assert len(story.changes) <= 60


def test_who_comes_back_in_time_changes_nothing() -> None:
    story = Story()
    story.have(4)
    before = len(story.changes)
    for _ in range(100):
        story.have(3)
        story.wait(SHRINK_AFTER - TICK)
        story.have(4)
        story.wait(TICK)
    assert len(story.changes) == before


def test_who_stays_away_counts_no_more() -> None:
    story = Story()
    story.have(4)
    story.have(3)
    assert story.wait(SHRINK_AFTER - TICK) == 4
    assert story.wait(TICK) == 3


def test_shrinking_goes_to_the_most_of_the_last_seconds() -> None:
    story = Story()
    story.have(8)
    for connected in (5, 7, 5, 5):
        story.have(connected)
        story.wait(SHRINK_AFTER / 4)
    assert story.fleet.size == 7
    assert story.wait(SHRINK_AFTER) == 5


def test_shrinking_goes_by_halves_at_most() -> None:
    story = Story()
    story.have(100)
    story.have(1)
    sizes = [story.wait(SHRINK_AFTER) for _ in range(8)]
    assert sizes == [50, 25, 13, 7, 4, 2, 1, 1]


def test_with_none_connected_nothing_changes() -> None:
    story = Story()
    story.have(4)
    story.have(0)
    assert story.wait(3600.0) == 4


def test_a_restart_hands_nobody_more_than_before() -> None:
    story = Story(4)
    for connected in (1, 2, 3):
        assert story.have(connected) == 4
        assert story.wait(RETURN_WITHIN / 4) == 4
    assert story.have(4) == 4
    story.have(3)
    assert story.wait(SHRINK_AFTER) == 3, "once all were back it shrinks as ever"


def test_who_does_not_come_back_after_a_restart_counts_no_more_at_last() -> None:
    story = Story(4)
    story.have(3)
    assert story.wait(RETURN_WITHIN - TICK) == 4
    assert story.wait(TICK) == 3


steps = st.lists(st.tuples(st.integers(0, 40), st.floats(0.01, 4.0)), min_size=1, max_size=40)


@given(st.integers(1, 20), steps)
def test_it_is_never_none_and_arrives_at_who_is_there(size: int, script: list[tuple[int, float]]) -> None:
    story = Story(size)
    for connected, seconds in script:
        story.have(connected)
        assert story.fleet.size >= 1
        assert connected < story.fleet.size * (1 + TOLERATED), "the sum is never a tenth too much"
        story.wait(seconds)
    story.have(3)
    assert story.wait(RETURN_WITHIN + 10 * SHRINK_AFTER) == 3
    assert story._due is None


@given(steps)
def test_changes_are_few(script: list[tuple[int, float]]) -> None:
    story = Story()
    for connected, seconds in script:
        story.have(connected)
        story.wait(seconds)
    before = 1
    last: dict[str, float] = {}
    for at, size in story.changes:
        kind = "grown" if size > before else "shrunk"
        pace = PACE if kind == "grown" else SHRINK_AFTER
        assert size >= (1 + TOLERATED) * before or at - last.get(kind, -9.0) >= pace - 1e-9
        last[kind], before = at, size

"""Backends that have lost their endpoints are drained after a while, each time anew."""

from __future__ import annotations

from collections.abc import Callable

from xds_server.derive.outcome import Outcome
from xds_server.ir.backend import BackendKey
from xds_server.ir.facts import FactChanges
from xds_server.snapshot.draining import LINGER, Draining

ONE, OTHER = BackendKey("shop", "one", 80), BackendKey("shop", "other", 80)


class World:
    """Timers that end when they are told to, and what was drained."""

    def __init__(self) -> None:
        self.timers: list[Callable[[], None]] = []
        self.told: list[FactChanges] = []
        self.draining = Draining(self._later, self.told.append)

    def _later(self, delay: float, call: Callable[[], None]) -> None:
        assert delay == LINGER
        self.timers.append(call)

    def lingering(self, **changes: bool | None) -> None:
        self.draining.take(Outcome(lingering={BackendKey("shop", name, 80): each for name, each in changes.items()}))

    def end(self) -> None:
        """The first timer ends."""
        self.timers.pop(0)()


def test_one_timer_for_all_of_a_round() -> None:
    world = World()
    world.lingering(one=True, other=True)
    assert not world.told
    world.end()
    assert world.told == [FactChanges(drained=frozenset({ONE, OTHER}))]
    assert not world.timers


def test_one_with_endpoints_again_is_not_drained() -> None:
    world = World()
    world.lingering(one=True, other=True)
    world.lingering(one=None)
    world.end()
    assert world.told == [FactChanges(drained=frozenset({OTHER}))]


def test_one_that_loses_them_again_has_its_whole_time() -> None:
    world = World()
    world.lingering(one=True)
    world.lingering(one=None)
    world.lingering(one=True)
    world.end()
    assert not world.told
    world.end()
    assert world.told == [FactChanges(drained=frozenset({ONE}))]


def test_nothing_that_lingers_needs_no_timer() -> None:
    world = World()
    world.lingering(one=None)
    world.draining.take(Outcome())
    assert not world.timers

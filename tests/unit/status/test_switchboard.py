"""The switchboard in virtual time: what is set is in force, told and remembered, and what expires is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import pytest

from xds_server.derive.mass_breaker import BreakerState, Limits
from xds_server.ir.events import EventKind
from xds_server.ir.facts import RouteKey, Verdict
from xds_server.ir.switches import FrozenRoutes, Switch, Switches, Value
from xds_server.snapshot.history.switches import Governed
from xds_server.status.audit import Audit
from xds_server.status.brake import Brake
from xds_server.status.events import EventBus
from xds_server.status.switchboard import Switchboard, merged
from xds_server.telemetry.metrics import Metrics

ROUTE = RouteKey("shop", "web", "orders")
SWITCH = Switch("*", Value.ON, "because", "operator", 0.0)
FORCED = replace(SWITCH, value=Value.FORCED)


class Board:
    """A switchboard with a clock of its own, and what it does."""

    def __init__(self, restored: Governed = Governed(), held: Mapping[RouteKey, Verdict] | None = None) -> None:  # noqa: B008 - it is frozen
        self.now = 100.0
        self.in_force: list[Switches] = []
        self.kept: list[Governed] = []
        self.counted: dict[RouteKey, Verdict] = {}
        self.fails = False
        self.audit = Audit(EventBus(lambda: self.now), lambda: self.now)
        state = BreakerState(since=1.0, held=held) if held else BreakerState()
        self.brake = Brake(Limits(), lambda: self.now, self.audit.emit, Metrics(), state)
        self.brake.connect(lambda: {ROUTE}, self.counted.update, lambda _routes: self.board.remember())
        self.board = Switchboard(
            lambda: self.now, self.audit.emit, self._govern, self.brake, keep=self.kept.append, restored=restored
        )

    async def _govern(self, switches: Switches, _frozen: FrozenRoutes, _why: str) -> FrozenRoutes:
        await asyncio.sleep(0)
        if self.fails:
            raise RuntimeError("a fault of ours")
        self.in_force.append(switches)
        return {}

    async def set(self, **fields: object) -> None:
        await self.board.set(lambda before: replace(before, **fields), "operator", "done")  # type: ignore[arg-type]

    def entries(self) -> list[tuple[str, str, str]]:
        found, _ = self.audit.page(None, 100)
        return [(each.actor, each.target, each.reason) for each in reversed(found)]

    async def run_for_a_moment(self) -> None:
        task = asyncio.create_task(self.board.run())
        for _ in range(20):
            await asyncio.sleep(0.001)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_what_is_set_is_in_force_remembered_and_told() -> None:
    made = Board()
    await made.set(read_only=SWITCH)
    assert made.in_force == [Switches(read_only=SWITCH)]
    assert made.kept[-1].switches == made.board.switches == Switches(read_only=SWITCH)
    await made.set(read_only=None)
    assert made.entries() == [("operator", "read_only", "because"), ("operator", "read_only", "done")]


async def test_to_set_what_is_set_does_nothing() -> None:
    made = Board()
    await made.set(freeze=(SWITCH,))
    await made.set(freeze=(SWITCH,))
    assert len(made.in_force) == len(made.entries()) == 1


async def test_a_change_that_can_not_be_put_in_force_changes_nothing() -> None:
    made = Board()
    made.fails = True
    with pytest.raises(RuntimeError):
        await made.set(read_only=SWITCH)
    assert (made.board.switches, made.kept, made.entries()) == (Switches(), [], [])


async def test_changes_at_once_are_made_one_after_the_other() -> None:
    made = Board()
    await asyncio.gather(made.set(read_only=SWITCH), made.set(freeze=(SWITCH,)), made.set(degradation=(FORCED,)))
    assert made.board.switches == Switches(SWITCH, (SWITCH,), (FORCED,))


async def test_each_switch_is_taken_back_when_its_own_time_is_over() -> None:
    made = Board()
    await made.set(
        read_only=replace(SWITCH, expires=101.0), freeze=(replace(SWITCH, expires=105.0),), degradation=(FORCED,)
    )
    await made.run_for_a_moment()
    assert len(made.in_force) == 1
    made.now = 101.0
    await made.run_for_a_moment()
    assert made.board.switches == Switches(None, (replace(SWITCH, expires=105.0),), (FORCED,))
    made.now = 200.0
    await made.run_for_a_moment()
    assert made.board.switches == Switches(degradation=(FORCED,))
    assert made.entries()[3:] == [("tidegate", "read_only", "expired"), ("tidegate", "freeze *", "expired")]


async def test_an_expiry_that_fails_is_tried_again() -> None:
    made = Board()
    await made.set(read_only=replace(SWITCH, expires=101.0))
    made.fails, made.now = True, 102.0
    await made.run_for_a_moment()
    assert made.board.switches.read_only is not None
    made.fails = False
    await made.run_for_a_moment()
    assert made.board.switches == Switches()


def test_after_a_restart_what_stands_is_in_force_and_what_has_expired_is_told() -> None:
    over, stands = replace(SWITCH, expires=99.0), replace(FORCED, expires=101.0)
    made = Board(Governed(Switches(over, (), (stands,))))
    begun: list[Switches] = []

    def begin(switches: Switches, frozen: FrozenRoutes) -> FrozenRoutes:
        begun.append(switches)
        return frozen

    made.board.begin(begin)
    assert begun == [made.board.switches] == [Switches(degradation=(stands,))]
    assert made.entries() == [("tidegate", "read_only", "expired while the process was down")]
    assert made.kept[-1].switches == made.board.switches


async def test_auto_for_all_lets_what_the_breaker_holds_count_and_nothing_else_does() -> None:
    made = Board(held={ROUTE: Verdict.OVER})
    await made.set(degradation=(replace(FORCED, route=str(ROUTE)),))
    await made.set(degradation=(FORCED,))
    assert made.counted == {}
    auto = replace(SWITCH, value=Value.AUTO)
    await made.set(degradation=(auto,))
    assert made.counted == {ROUTE: Verdict.OVER}
    assert made.entries()[-1] == ("operator", "breaker", "because")
    assert (made.kept[-1].tripped, made.kept[-1].held) == (None, {})


def test_one_that_says_the_same_keeps_who_set_it_and_when() -> None:
    again = replace(SWITCH, by="another", since=50.0)
    assert merged((SWITCH,), (again,)) == (SWITCH,)
    other = replace(again, reason="another")
    assert merged((SWITCH,), (other, replace(FORCED, route="r"))) == (other, replace(FORCED, route="r"))


async def test_an_event_of_a_switch_has_the_number_of_its_entry() -> None:
    bus = EventBus(lambda: 0.0)
    audit = Audit(bus, lambda: 0.0)
    data = {"target": "read_only", "by": "operator", "reason": "because", "before": None, "after": {"value": "on"}}
    audit.emit(EventKind.SWITCH, data)
    (event,), (entry,) = bus.recent(), audit.page(None, 10)[0]
    assert (event.id, entry.action, entry.after) == (entry.id, "switch", {"value": "on"})

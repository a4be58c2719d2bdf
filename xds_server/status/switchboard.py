"""The switchboard: which switches are set, who set them and until when, put in force, told and remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog

from xds_server.ir.events import EventKind
from xds_server.ir.switches import ALL, FrozenRoutes, Name, Switch, Switches, SwitchKey, Value
from xds_server.snapshot.history.switches import Governed
from xds_server.status.brake import Brake, Emit
from xds_server.status.stamps import stamp

_log = structlog.get_logger()

_LOOK = 30.0
"""Seconds between looks at the clock at most: it may be set."""

Govern = Callable[[Switches, FrozenRoutes, str], Awaitable[FrozenRoutes]]
"""Has these switches in force; why, for people → what is kept of the routes that are frozen now (`Pipeline.govern`)."""

Keep = Callable[[Governed], None]
"""Has what is decided stored, without waiting for it."""

Change = Callable[[Switches], Switches]
"""The switches that are set → those that are to be set. What it raises is passed on, and nothing is changed."""


class Switchboard:
    """All calls belong on the event loop; one change at a time."""

    def __init__(
        self,
        clock: Callable[[], float],
        emit: Emit,
        govern: Govern,
        brake: Brake,
        *,
        keep: Keep = lambda _governed: None,
        restored: Governed = Governed(),  # noqa: B008 - it is frozen
    ) -> None:
        """Take times from `clock` (POSIX seconds); begin with what was decided before, as far as it has not expired."""
        self.brake = brake
        self._clock = clock
        self._emit = emit
        self._govern = govern
        self._keep = keep
        self._frozen = restored.frozen
        self._before = restored.switches
        self.switches = restored.switches.standing(clock())
        self._changing = asyncio.Lock()
        self._changed = asyncio.Event()

    def begin(self, begin: Callable[[Switches, FrozenRoutes], FrozenRoutes]) -> None:
        """Have what was decided before in force from the start, and tell what has expired meanwhile."""
        self._frozen = begin(self.switches, self._frozen)
        for key, switch in self.switches.items():
            _log.warning("switch_in_force", switch=str(key), value=switch.value, by=switch.by, reason=switch.reason)
        self._tell(self._before, self.switches, "tidegate", "expired while the process was down")
        self.remember()

    async def set(self, change: Change, by: str, reason: str) -> None:
        """Change switches; once done they are in force. `reason` is for those that are taken back."""
        async with self._changing:
            before = self.switches
            after = change(before).standing(self._clock())
            if after == before:
                return
            await self._put(after, by, reason)
        trust = SwitchKey(Name.DEGRADATION, ALL)
        found, earlier = dict(after.items()).get(trust), dict(before.items()).get(trust)
        if found is not None and found != earlier and found.value is Value.AUTO:
            self.brake.reset(by, found.reason)

    def remember(self) -> None:
        """Have all that is decided stored."""
        breaker = self.brake.state
        turned = breaker.turned if breaker.since is not None else {}
        self._keep(Governed(self.switches, self._frozen, breaker.since, breaker.held, turned))

    async def run(self) -> None:
        """Take back what expires, until cancelled."""
        while True:
            await self._until_next()
            try:
                await self._expire()
            except Exception:  # noqa: BLE001 - a fault of ours must not end what is served; it is tried again
                _log.exception("expiry_failed")
                await asyncio.sleep(1.0)

    async def _until_next(self) -> None:
        self._changed.clear()
        end = self.switches.next_expiry
        pause = None if end is None else min(max(end - self._clock(), 0.0), _LOOK)
        try:
            await asyncio.wait_for(self._changed.wait(), pause)
        except TimeoutError:
            return

    async def _expire(self) -> None:
        async with self._changing:
            after = self.switches.standing(self._clock())
            if after != self.switches:
                await self._put(after, "tidegate", "expired")

    async def _put(self, after: Switches, by: str, reason: str) -> None:
        before = self.switches
        changed = ", ".join(str(key) for key in _changed(before, after))
        self._frozen = await self._govern(after, self._frozen, f"{changed} by {by}")
        self.switches = after
        self.remember()
        self._changed.set()
        self._tell(before, after, by, reason)

    def _tell(self, before: Switches, after: Switches, by: str, reason: str) -> None:
        for key, (old, new) in _changed(before, after).items():
            why = new.reason if new is not None else reason
            _log.warning("switch", switch=str(key), value=new.value if new is not None else None, by=by, reason=why)
            data = {"switch": str(key.name), "route": key.route, "target": str(key), "by": by, "reason": why}
            self._emit(EventKind.SWITCH, {**data, "before": as_json(old), "after": as_json(new)})


def merged(before: tuple[Switch, ...], after: tuple[Switch, ...]) -> tuple[Switch, ...]:
    """The switches that replace others: one that says the same as before is the one from before."""
    known = {each.route: each for each in before}
    return tuple(known[each.route] if each.route in known and known[each.route].means(each) else each for each in after)


def as_json(switch: Switch | None) -> dict[str, object] | None:
    """A switch as the events and the audit log tell it."""
    if switch is None:
        return None
    expires = stamp(switch.expires) if switch.expires is not None else None
    told = {"route": switch.route, "value": switch.value.value, "reason": switch.reason, "by": switch.by}
    return {**told, "since": stamp(switch.since), "expires": expires}


def _changed(before: Switches, after: Switches) -> Mapping[SwitchKey, tuple[Switch | None, Switch | None]]:
    old, new = dict(before.items()), dict(after.items())
    return {key: (old.get(key), new.get(key)) for key in {**old, **new} if old.get(key) != new.get(key)}

"""`/v1/switches`: what operators have decided for the time being."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from aiohttp import web
from msgspec import UNSET

from xds_server.admin.answers import answer
from xds_server.admin.deps import DEPS, AdminDeps
from xds_server.admin.problems import bad_request
from xds_server.admin.shapes import FieldError
from xds_server.admin.switch_shapes import Breaker, Switch as Shape, Switches as Answer, SwitchesRequest, SwitchRequest
from xds_server.admin.writes import actor_of, body_of
from xds_server.ir.switches import ALL, Name, Switch, Switches, Value
from xds_server.status.stamps import stamp
from xds_server.status.switchboard import merged

_PATIENCE = 5.0
"""Seconds that an answer waits for the disk; what is in force does not."""

_FAR = 10 * 366 * 86400.0
"""Seconds from now: whoever says more means never."""

_WORDS: dict[Name, dict[str | bool, Value]] = {
    Name.DEGRADATION: {"auto": Value.AUTO, "off": Value.OFF, False: Value.OFF, "forced": Value.FORCED},
    Name.FREEZE: {
        "on": Value.ON,
        "off": Value.OFF,
        True: Value.ON,
        False: Value.OFF,
        "forced": Value.ON,
        "auto": Value.OFF,
    },
}
_WORDS[Name.READ_ONLY] = _WORDS[Name.FREEZE]


async def show_switches(request: web.Request) -> web.Response:
    """All switches."""
    return answer(shown(request.app[DEPS]))


async def put_switches(request: web.Request) -> web.Response:
    """Replace the switches of the keys that are given; once answered they are in force."""
    deps = request.app[DEPS]
    asked, actor = await body_of(request, SwitchesRequest), actor_of(request)

    def change(before: Switches) -> Switches:
        return _changed(before, asked, _Reader(actor, deps.clock(), deps.gateways.knows, before))

    await deps.switches.set(change, actor, _reason(asked))
    with suppress(TimeoutError):
        await asyncio.wait_for(deps.stored(), _PATIENCE)
    return answer(shown(deps))


def shown(deps: AdminDeps) -> Answer:
    """All switches as they are now."""
    switches, brake = deps.switches.switches, deps.switches.brake
    since, limits = brake.state.since, brake.limits
    return Answer(
        _shape(switches.read_only or Switch(ALL, Value.OFF, "", "", 0.0)),
        [_shape(each) for each in switches.freeze],
        [_shape(each) for each in switches.degradation],
        Breaker(
            "closed" if since is None else "open",
            stamp(since) if since is not None else None,
            len(brake.state.held),
            brake.watched,
            limits.percent,
            limits.window,
            limits.minimum,
        ),
    )


def _shape(switch: Switch) -> Shape:
    return Shape(
        switch.route,
        switch.value.value,
        switch.reason,
        switch.by,
        stamp(switch.since) if switch.since else None,
        stamp(switch.expires) if switch.expires is not None else None,
    )


@dataclass(slots=True)
class _Reader:
    """Makes switches of what is asked for, and collects what is wrong with it."""

    actor: str
    now: float
    knows: Callable[[str], bool]
    before: Switches
    errors: list[FieldError] = field(default_factory=list)

    def read(self, name: Name, asked: Iterable[tuple[str, SwitchRequest]], known: Collection[Switch]) -> list[Switch]:
        """Those that are to be set, by the places where they stand; `known` are set already."""
        found: dict[str, Switch] = {}
        for place, each in asked:
            value = _WORDS[name].get(each.value)
            if each.route in found:
                self._refuse(place, "route", f"{each.route} stands there twice")
            if value is None:
                words = ", ".join(word for word in _WORDS[name] if isinstance(word, str))
                self._refuse(place, "value", f"found {each.value!r}, expected one of {words}")
            elif name is Name.DEGRADATION or value is Value.ON:
                found[each.route] = self._switch(name, place, each, value, known)
        return list(found.values())

    def _switch(self, name: Name, place: str, each: SwitchRequest, value: Value, known: Collection[Switch]) -> Switch:
        if name is Name.READ_ONLY and each.route != ALL:
            self._refuse(place, "route", "it is for all or none, so *")
        elif each.route != ALL and not self.knows(each.route) and each.route not in {one.route for one in known}:
            self._refuse(place, "route", f"there is no route {each.route!r}; expected namespace/gateway/route, or *")
        if not each.reason.strip():
            self._refuse(place, "reason", "is needed: whoever looks next wants to know why")
        expires = each.expires.timestamp() if each.expires is not None else None
        if expires is not None and expires <= self.now:
            self._refuse(place, "expires", "is over already")
        if expires is not None and expires > self.now + _FAR:
            self._refuse(place, "expires", "is more than ten years away: leave it out")
        return Switch(each.route, value, each.reason, self.actor, self.now, expires)

    def _refuse(self, place: str, key: str, message: str) -> None:
        self.errors.append(FieldError(f"{place}.{key}", message))


def _changed(before: Switches, asked: SwitchesRequest, reader: _Reader) -> Switches:
    after = before
    if asked.read_only is not UNSET:
        known = (before.read_only,) if before.read_only is not None else ()
        given = [("read_only", asked.read_only)] if asked.read_only is not None else []
        found = merged(known, tuple(reader.read(Name.READ_ONLY, given, known)))
        after = replace(after, read_only=found[0] if found else None)
    if asked.freeze is not UNSET:
        found = tuple(reader.read(Name.FREEZE, _placed("freeze", asked.freeze), before.freeze))
        after = replace(after, freeze=merged(before.freeze, found))
    if asked.degradation is not UNSET:
        found = tuple(reader.read(Name.DEGRADATION, _placed("degradation", asked.degradation), before.degradation))
        after = replace(after, degradation=merged(before.degradation, found))
    if reader.errors:
        raise bad_request(*reader.errors)
    return after


def _placed(name: str, asked: list[SwitchRequest]) -> list[tuple[str, SwitchRequest]]:
    return [(f"{name}[{index}]", each) for index, each in enumerate(asked)]


def _reason(asked: SwitchesRequest) -> str:
    """Why switches are taken back, as far as that is said."""
    if asked.reason is not UNSET:
        return asked.reason
    return asked.read_only.reason if isinstance(asked.read_only, SwitchRequest) else ""

"""Switches on the command line: what is asked of the admin API, and the views for people."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from xds_server.cli.answers import answered
from xds_server.cli.client import Access, Client, decoded
from xds_server.cli.tables import moment, show
from xds_server.cli.text import clean

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One switch that is to be set, or (`is_set` false) taken back; `within` is in seconds, None: until then."""

    name: str
    route: str
    value: str
    reason: str
    within: float | None
    is_set: bool


def show_switches(admin: Access, *, as_json: bool) -> int:
    """All switches; gives the exit code."""
    return answered(lambda: Client(admin).get("v1", "switches"), show_all, as_json=as_json)


def put(admin: Access, wanted: Wanted, *, as_json: bool) -> int:
    """Set a switch, or take it back, beside all others of its kind; gives the exit code."""

    def ask() -> bytes:
        client = Client(admin)
        now = decoded(client.get("v1", "switches"))
        return client.send("PUT", "v1", "switches", body=_body(now, wanted))

    return answered(ask, show_all, as_json=as_json)


def show_all(answer: Json) -> None:
    """A line for each switch that is set, and the breaker if it is open."""
    found = lines(answer)
    if not found:
        print("no switch is set")
    else:
        show(["SWITCH", "ROUTE", "VALUE", "BY", "SINCE", "EXPIRES", "REASON"], found)
    if (told := breaker(answer)) is not None:
        print(clean(f"\n{told}"))


def lines(answer: Json) -> list[list[str]]:
    """The rows of a table of switches."""
    named = [("read_only", each) for each in (answer["read_only"],) if each["value"] != "off"]
    named += [(name, each) for name in ("freeze", "degradation") for each in answer[name]]
    return [
        [
            name,
            each["route"],
            each["value"],
            each["by"],
            moment(each["since"]),
            moment(each["expires"]) if each["expires"] else "-",
            each["reason"],
        ]
        for name, each in named
    ]


def breaker(answer: Json) -> str | None:
    """The breaker on degradation in a sentence; None while it is closed."""
    found = answer["breaker"]
    if found["state"] == "closed":
        return None
    return (
        f"decisions are held since {moment(found['since'])}: too many of {found['watched']} routes would degrade at once,"
        f" and the verdicts of {found['held']} do not count"
    )


def switch_now(after: Json | None) -> str:
    """What a switch, or the breaker, is from then on: its value, its state, or that it is taken back."""
    found = after or {}
    return str(found.get("value", found.get("state", "taken back")))


def _body(now: Json, wanted: Wanted) -> Json:
    expires = None if wanted.within is None else datetime.fromtimestamp(time.time() + wanted.within, UTC).isoformat()
    entry = {"route": wanted.route, "value": wanted.value, "reason": wanted.reason, "expires": expires}
    if wanted.name == "read_only":
        return {wanted.name: entry}
    others = [each for each in now[wanted.name] if each["route"] != wanted.route]
    return {wanted.name: [*others, *([entry] if wanted.is_set else [])], "reason": wanted.reason}

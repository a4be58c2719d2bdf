"""Views of gateways for people: a line per gateway with what stands out below, and all about one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xds_server.cli import switches
from xds_server.cli.tables import age, moment, short, show
from xds_server.cli.text import clean

Json = Mapping[str, Any]

_COLUMNS = (
    "ROUTE",
    "DECISION",
    "SERVED",
    "REASON",
    "SINCE",
    "VALUE",
    "STATE",
    "THRESHOLD",
    "RECOVER",
    "AGE",
    "BACKEND",
    "WATCHES",
)

_KEPT_BACK = {"Held": "HELD", "ReadOnly": "READ-ONLY", "Frozen": "FROZEN"}
"""The reasons for which decisions are not in force because somebody wants it so."""

_SHOWN = 20
"""Routes that are listed below the table of gateways; of more it tells how many."""


def show_list(answer: Json) -> None:
    """A line per gateway, then the routes that stand out: elsewhere, by a switch, or of unknown values."""
    columns = ["NAMESPACE", "NAME", "GROUP", "PHASE", "READY", "ROUTES", "ELSEWHERE", "UNKNOWN", "ACKED"]
    show(columns, [_line(gateway) for gateway in answer["gateways"]])
    apart = [(gateway, route) for gateway in answer["gateways"] for route in gateway["routes"] if _stands_out(route)]
    if apart:
        print()
    for gateway, route in apart[:_SHOWN]:
        print(clean(f"{gateway['namespace']}/{gateway['name']}/{route['name']}: {_told(route)}"))
    if len(apart) > _SHOWN:
        print(f"and {len(apart) - _SHOWN} more routes; tidegate gateways NAMESPACE/NAME shows those of one gateway")
    _show_kept_back(answer["gateways"])
    _show_switches(answer["switches"])


def _show_kept_back(gateways: Sequence[Json]) -> None:
    """Why decisions are not in force; once for all gateways of a group."""
    reasons = dict.fromkeys(line for gateway in gateways if (line := _kept_back(gateway)) is not None)
    if reasons:
        print()
    for line in reasons:
        print(clean(line))


def _kept_back(gateway: Json) -> str | None:
    """Why decisions of a gateway are not in force, where a rollback or a switch holds them back."""
    programmed = next(each for each in gateway["status"]["conditions"] if each["type"] == "Programmed")
    if programmed["reason"] not in _KEPT_BACK or all(each["served"] for each in gateway["routes"]):
        return None
    return f"{_KEPT_BACK[programmed['reason']]}: {_line_of(programmed)}; decisions are what would be served"


def show_details(answer: Json) -> None:
    """All about one gateway: its conditions and its routes."""
    for gateway in answer["gateways"]:
        status = gateway["status"]
        print(clean(f"{gateway['namespace']}/{gateway['name']} ({status['phase']})"))
        for name, value in (
            ("group", gateway["group"]),
            ("generation", str(gateway["generation"])),
            ("applied", short(status["lastAppliedHash"])),
            ("acked", short(status["lastAckedVersion"] or "")),
            ("error", status["lastError"]),
            ("in force", _kept_back(gateway) or "yes"),
        ):
            print(clean(f"  {name:10} {value or '-'}"))
        print()
        show(
            ["CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"],
            [
                [each["type"], each["status"], each["reason"], moment(each["lastTransitionTime"]), _line_of(each)]
                for each in status["conditions"]
            ],
        )
        print()
        show(
            [*_COLUMNS],
            [_route(each) for each in gateway["routes"]],
        )
    _show_switches(answer["switches"])


def _show_switches(answer: Json) -> None:
    """Below the gateways, the switches that are set above them; nothing where none is."""
    if switches.lines(answer) or switches.breaker(answer) is not None:
        print()
        switches.show_all(answer)


def watched(told: Json) -> str:
    """What the number `lag` of a route, or of an event about one, is in a word."""
    return "lag" if str(told.get("watches") or "kafka:").startswith("kafka:") else "value"


def _line(gateway: Json) -> list[str]:
    status, routes = gateway["status"], gateway["routes"]
    ready = next((each["status"] for each in status["conditions"] if each["type"] == "Ready"), "-")
    return [
        *(gateway[key] for key in ("namespace", "name", "group")),
        status["phase"],
        {"True": "yes", "False": "no"}.get(ready, ready),
        str(len(routes)),
        str(sum(each["decision"] != "primary" for each in routes)),
        str(sum(each["unknown"] is not None for each in routes)),
        short(status["lastAckedVersion"] or ""),
    ]


def _stands_out(route: Json) -> bool:
    is_as_declared = route["decision"] == "primary" and route["reason"] == "healthy" and route["served"]
    return not is_as_declared or route["unknown"] is not None or route["state"] not in (None, "ok")


def _told(route: Json) -> str:
    leads = f" to {route['backend']}" if route["backend"] else ""
    told = f"{route['decision']}{leads} for {age(route['since'])} ({route['reason']})"
    if not route["served"]:
        told = f"not served, would be {told}"
    if route["unknown"] is not None:
        last = f", last known {number(route['last_lag'])}" if route["last_lag"] is not None else ""
        return f"{told}; {watched(route)} unknown: {route['unknown']}{last}"
    if route["lag"] is not None:
        doubt = f" ({route['state']})" if route["state"] != "ok" else ""
        return f"{told}; {watched(route)} {number(route['lag'])} of {number(route['threshold'])}{doubt}"
    return told


def _route(route: Json) -> list[str]:
    value = "unknown" if route["unknown"] is not None else number(route["lag"])
    return [
        route["name"],
        route["decision"],
        "yes" if route["served"] else "no",
        route["reason"],
        age(route["since"]),
        value,
        route["state"] or "-",
        number(route["threshold"]),
        number(route["recover"]),
        "-" if route["age_s"] is None else f"{route['age_s']:.0f}s",
        route["backend"] or "-",
        route["watches"] or "-",
    ]


def _line_of(condition: Json) -> str:
    """A condition's message; Envoy's words in it may have several lines."""
    return " ".join(str(condition["message"]).split())


def number(value: float | None) -> str:
    """A number for people: without a fraction where it has none."""
    if value is None:
        return "-"
    return str(int(value)) if float(value).is_integer() else str(value)

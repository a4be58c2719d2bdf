"""Views of gateways for people: a line per gateway with what stands out below, and all about one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xds_server.cli import switches
from xds_server.cli.tables import age, moment, short, show
from xds_server.cli.text import clean

Json = Mapping[str, Any]

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
    _show_switches(answer["switches"])


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
            ["ROUTE", "DECISION", "REASON", "SINCE", "VALUE", "THRESHOLD", "RECOVER", "AGE", "BACKEND", "WATCHES"],
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
    return route["decision"] != "primary" or route["unknown"] is not None or route["reason"] != "healthy"


def _told(route: Json) -> str:
    leads = f" to {route['backend']}" if route["backend"] else ""
    told = f"{route['decision']}{leads} for {age(route['since'])} ({route['reason']})"
    if route["unknown"] is not None:
        last = f", last known {number(route['last_lag'])}" if route["last_lag"] is not None else ""
        return f"{told}; {watched(route)} unknown: {route['unknown']}{last}"
    if route["lag"] is not None:
        return f"{told}; {watched(route)} {number(route['lag'])} of {number(route['threshold'])}"
    return told


def _route(route: Json) -> list[str]:
    value = "unknown" if route["unknown"] is not None else number(route["lag"])
    return [
        route["name"],
        route["decision"],
        route["reason"],
        age(route["since"]),
        value,
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

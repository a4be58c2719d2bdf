"""How nodes are shown: the list, and one node with what it refused and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xds_server.cli.tables import age, moment, short, show
from xds_server.cli.text import clean

Json = Mapping[str, Any]


def show_list(answer: Json) -> None:
    """A line per stream."""
    columns = ["NODE", "GROUP", "ADDRESS", "PROTOCOL", "BUILD", "CONNECTED", "AGE", "STATE"]
    rows = [
        [
            *(node[key] or "-" for key in ("id", "group", "address", "protocol", "build")),
            "yes" if node["connected"] else "no",
            age(node["since"]),
            _summary(node["types"]),
        ]
        for node in answer["nodes"]
    ]
    show(columns, rows)
    if answer["others"]:
        print(clean(f"\nThese are the nodes of one replica; others have their own: {', '.join(answer['others'])}"))


def show_details(answer: Json) -> None:
    """All about one node: each stream, each type, each refusal in the node's own words."""
    for index, node in enumerate(answer["nodes"]):
        if index:
            print()
        _show_head(node)
        show(
            ["TYPE", "SUBSCRIBED", "SENT", "ACKED", "STATE", "TIMEOUTS"],
            [[key, *_cells(each)] for key, each in node["types"].items()],
        )
        for key, each in node["types"].items():
            if each["nacked"]:
                _show_refusal(key, each["nacked"])


def _show_head(node: Json) -> None:
    state = "connected" if node["connected"] else "left"
    print(clean(f"{node['id']} ({state})"))
    shown = (
        ("group", node["group"]),
        ("cluster", node["cluster"]),
        ("address", node["address"]),
        ("protocol", node["protocol"]),
        ("Envoy", node["build"]),
        ("since", moment(node["since"])),
        ("replica", node["replica"]),
        ("identity", node["identity"]),
    )
    for name, value in shown:
        print(clean(f"  {name:9} {value or '-'}"))


def _show_refusal(key: str, refusal: Json) -> None:
    print(f"\n{clean(key)}: refused {short(refusal['version'])} at {moment(refusal['at'])}:")
    for line in clean(refusal["error"]["message"]).splitlines():
        print(f"  {line}")
    for origin in refusal["culprit"]:
        print(clean(f"  declared in {place(origin)}"))


def place(origin: Json) -> str:
    """Where something is declared, as a compiler says it, and what it is."""
    where = f"{origin['path']}:{origin['line']}" if origin["path"] and origin["line"] else origin["path"]
    what = "/".join(part for part in (origin["kind"], origin["namespace"], origin["name"]) if part)
    if not where and what and origin["generation"]:
        return f"{what} (generation {origin['generation']})"
    return f"{where} ({what})" if where and what else where or what or origin["source"]


def _cells(report: Json) -> list[str]:
    wanted = report["subscribed"]
    names = f"{wanted['names']} names" if wanted["names"] != 1 else "1 name"
    subscribed = "all" if wanted["wildcard"] else names
    if wanted["wildcard"] and wanted["names"]:
        subscribed = f"all, {names}"
    sent, acked = (short(report[key]["version"]) if report[key] else "-" for key in ("sent", "acked"))
    return [subscribed, sent, acked, _state(report), str(report["timeouts"])]


def _state(report: Json) -> str:
    if report["nacked"]:
        return "refused"
    if report["waiting"]:
        return f"waits for {report['waiting']['for']}"
    return "pending" if report["pending"] else "ok" if report["acked"] else "-"


def _summary(types: Mapping[str, Json]) -> str:
    """What needs attention, by type; `ok` when nothing does."""
    states: dict[str, list[str]] = {}
    for key, report in types.items():
        states.setdefault(_state(report), []).append(key)
    told = [f"{state}: {', '.join(keys)}" for state, keys in states.items() if state not in ("ok", "-")]
    return "; ".join(told) or ("ok" if "ok" in states else "-")

"""The operator's commands: they ask the admin API and show the answer. Each gives the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xds_server.cli import gateways as gateway_views, nodes as node_views
from xds_server.cli.answers import answered
from xds_server.cli.client import Access, AdminError, Client
from xds_server.cli.switches import switch_now
from xds_server.cli.tables import age, moment, short, show
from xds_server.cli.text import clean

Json = Mapping[str, Any]

_MOST_ERRORS = 100
"""So many standing problems of a source the API tells."""

_PROGRAMMED = {True: "yes", False: "no", None: "not known"}

_MOST_SHOWN = 20
"""So many problems of sources `status` shows."""


def status(admin: Access, *, as_json: bool) -> int:
    """All groups, and how the sources fare; as JSON the groups."""
    code = answered(lambda: Client(admin).get("v1", "groups"), _show_groups, as_json=as_json)
    if code or as_json:
        return code
    return answered(lambda: Client(admin).get("v1", "sources"), _show_sources, as_json=False)


def nodes(admin: Access, node: str | None, group: str | None, *, as_json: bool) -> int:
    """All nodes, or one with its details."""
    if node is None:
        ask = lambda: Client(admin).get("v1", "nodes", query={"group": group})  # noqa: E731
        return answered(ask, node_views.show_list, as_json=as_json)
    return answered(lambda: Client(admin).get("v1", "nodes", node), node_views.show_details, as_json=as_json)


def gateways(admin: Access, gateway: str | None, *, as_json: bool) -> int:
    """All gateways, or one (`NAMESPACE/NAME`) with its routes."""
    if gateway is None:
        return answered(lambda: Client(admin).get("v1", "gateways"), gateway_views.show_list, as_json=as_json)

    def ask() -> bytes:
        namespace, slash, name = gateway.partition("/")
        if not slash:
            namespace, name = "default", gateway
        if not namespace or not name or "/" in name:
            raise AdminError(f"{gateway!r}: expected NAMESPACE/NAME")
        return Client(admin).get("v1", "gateways", namespace, name)

    return answered(ask, gateway_views.show_details, as_json=as_json)


def diff(admin: Access, group: str, older: str | None, newer: str | None, *, as_json: bool) -> int:
    """The difference of two versions."""
    query = {"from": older, "to": newer}
    return answered(lambda: Client(admin).get("v1", "groups", group, "diff", query=query), _show_diff, as_json=as_json)


def explain(admin: Access, group: str, key: str, name: str, *, as_json: bool) -> int:
    """What made a resource."""
    query = {"group": group, "type": key, "name": name}
    return answered(lambda: Client(admin).get("v1", "explain", query=query), _show_explanation, as_json=as_json)


def rollback(admin: Access, group: str, to: str, reason: str, *, as_json: bool) -> int:
    """Hold a group at a version."""
    body = {"to": to, "reason": reason}
    ask = lambda: Client(admin).send("POST", "v1", "groups", group, "rollback", body=body)  # noqa: E731
    return answered(ask, _show_group, as_json=as_json)


def release(admin: Access, group: str, reason: str, *, as_json: bool) -> int:
    """Release a group that is held."""
    body = {"reason": reason}
    ask = lambda: Client(admin).send("DELETE", "v1", "groups", group, "rollback", body=body)  # noqa: E731
    return answered(ask, _show_group, as_json=as_json)


def audit(admin: Access, limit: int, *, as_json: bool) -> int:
    """The newest entries of the audit log."""
    return answered(lambda: Client(admin).get("v1", "audit", query={"limit": str(limit)}), _show_audit, as_json=as_json)


def _show_groups(answer: Json) -> None:
    columns = ["GROUP", "VERSION", "SEQ", "AGE", "RESOURCES", "LEFT OUT", "NODES", "ACKED", "NACKED", "PROGRAMMED"]
    columns.append("HELD")
    rows = [
        [
            group["name"],
            short(group["version"]),
            str(group["seq"]),
            age(group["created"]),
            str(sum(group["counts"].values())),
            str(len(group["left_out"])),
            *(str((group["fleet"] or group)["nodes"][key]) for key in ("connected", "acked", "nacked")),
            _PROGRAMMED[(group["fleet"] or group)["programmed"]],
            short(group["held"]["to"]) if group["held"] else "-",
        ]
        for group in answer["groups"]
    ]
    show(columns, rows)
    _show_replicas(answer["groups"])
    for group in answer["groups"]:
        if group["held"] or group["stored"] is False:
            print(clean(f"\n{_told(group)}"))
        if group["behind"] is not None:
            print(clean(f"\n{_kept_back(group['name'], group['behind'])}"))
    left_out = [(group["name"], each) for group in answer["groups"] for each in group["left_out"]]
    if left_out:
        print("\nLeft out:")
    for group, each in left_out:
        print(clean(f"  {group}: {each['type']} {each['name']}: {each['reason']}: {each['message']}"))
    withheld = [(group["name"], each) for group in answer["groups"] for each in group["withheld"]]
    if withheld:
        print("\nRefused, accepted by none, and not given to new nodes:")
    for group, each in withheld:
        _show_withheld(group, each)


def _show_replicas(groups: Sequence[Json]) -> None:
    """That the nodes are those of all replicas, and which of these are not heard."""
    fleets = [group["fleet"] for group in groups if group["fleet"]]
    if fleets:
        silent = ", ".join(fleets[0]["unheard"])
        print(
            clean(f"\nNodes are those of {fleets[0]['replicas']} replicas{f'; not heard: {silent}' if silent else ''}")
        )


def _show_sources(answer: Json) -> None:
    print()
    show(
        ["SOURCE", "KIND", "READ", "OBJECTS", "PROBLEMS"],
        [
            [
                source["name"],
                source["kind"],
                "yes" if source["synced"] else "no",
                str(sum(source["objects"].values())),
                "100 or more" if len(source["errors"]) >= _MOST_ERRORS else str(len(source["errors"])),
            ]
            for source in answer["sources"]
        ],
    )
    problems = [(source["name"], each) for source in answer["sources"] for each in source["errors"]]
    if problems:
        print("\nProblems; what was good last stays in force:")
    for source, each in problems[:_MOST_SHOWN]:
        where = f"{each['path']}:{each['line']}" if each["path"] and each["line"] else each["path"] or each["object"]
        told = ": ".join(part for part in (where, each["field"], each["message"]) if part)
        print(clean(f"  {source}: {told} ({each['reason']})"))
    if len(problems) > _MOST_SHOWN:
        print(f"  and {len(problems) - _MOST_SHOWN} more: see /v1/sources")


def _kept_back(group: str, behind: Json) -> str:
    how = "read-only" if behind["reason"] == "ReadOnly" else "frozen"
    kept = f"version {short(behind['version'])}, which is declared, is not served"
    return f"group {group} is {how}, {behind['message']}; {kept}"


def _show_explanation(answer: Json) -> None:
    print(clean(f"{answer['type']} {answer['name']} of group {answer['group']}, version {short(answer['version'])}"))
    for origin in answer["objects"]:
        print(clean(f"  declared in {node_views.place(origin)}"))
    for seen in answer["observations"]:
        print(
            clean(f"  observed by {seen['observer']}: {seen['key']} = {_value(seen['value'])} ({age(seen['at'])} ago)")
        )


def _show_withheld(group: str, each: Json) -> None:
    instead = f"they get {short(each['stand_in'])}" if each["stand_in"] else "it is left out"
    print(clean(f"  {group}: {each['type']} {each['name']} {short(each['version'])}: {instead}"))
    for line in each["message"].splitlines():
        print(clean(f"    {', '.join(each['nodes'])}: {line}"))
    for origin in each["origin"]:
        print(clean(f"    declared in {node_views.place(origin)}"))


def _show_group(group: Json) -> None:
    print(clean(_told(group)))


def _told(group: Json) -> str:
    """Whether a group is held, in one line."""
    held = group["held"]
    served = f"group {group['name']} serves version {short(group['version'])} (seq {group['seq']})"
    if group["stored"] is False:
        served += ", which is not on disk yet"
    if not held:
        return f"{served}, as declared"
    return f"{served}, held at {short(held['to'])} by {held['by']} since {moment(held['since'])}: {held['reason']}"


def _show_audit(answer: Json) -> None:
    keys = ("actor", "action", "target")
    rows = [
        [str(each["id"]), moment(each["at"]), *(each[key] for key in keys), short(each["version"]), _why(each)]
        for each in answer["entries"]
    ]
    show(["ID", "AT", *(key.upper() for key in keys), "VERSION", "REASON"], rows)


def _why(entry: Json) -> str:
    """The reason; of a switch with what it says from then on."""
    if entry["action"] != "switch":
        return str(entry["reason"])
    return f"{switch_now(entry['after'])}: {entry['reason']}"


def _show_diff(answer: Json) -> None:
    before = f"{short(answer['from'])} (seq {answer['from_seq']})" if answer["from"] else "nothing"
    print(f"from {before} to {short(answer['to'])} (seq {answer['to_seq']})")
    for sign, key in (("+", "added"), ("-", "removed")):
        for each in answer[key]:
            print(clean(f"{sign} {each['type']} {each['name']}"))
    for each in answer["changed"]:
        print(clean(f"~ {each['type']} {each['name']}"))
        for field in each["fields"]:
            print(clean(f"    {field['path'] or '(all)'}: {_value(field['from'])} -> {_value(field['to'])}"))
    if not (answer["added"] or answer["removed"] or answer["changed"]):
        print("no difference")


def _value(value: object) -> str:
    import json  # noqa: PLC0415

    return "-" if value is None else json.dumps(value, ensure_ascii=False)

"""`tidegate events`: what happened lately, and with `--follow` what happens, over server-sent events.

The form is that of WHATWG HTML, "Server-sent events". A stream that ends is opened again where it ended.
"""

from __future__ import annotations

import json
import sys
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from xds_server.cli.client import Access, AdminError, Client
from xds_server.cli.gateways import number, watched
from xds_server.cli.nodes import place
from xds_server.cli.switches import switch_now
from xds_server.cli.tables import moment, short
from xds_server.cli.text import clean

_PAUSES = (0.5, 1.0, 2.0, 5.0)
"""Seconds before a stream is opened again; the last one from then on."""


_REMEMBERED = 2000
"""Events that are known to have been shown: more than the server keeps."""


class Happened(NamedTuple):
    """One event as it came."""

    id: str
    kind: str
    data: Mapping[str, Any]


def events(admin: Access, group: str | None, *, follow: bool, as_json: bool) -> int:
    """Show events until there are no more, or with `follow` until interrupted; gives the exit code."""
    try:
        client = Client(admin)
        for event in _all(client) if follow else _read(client.lines("v1", "events", query={"follow": "false"})):
            if group is None or event.data.get("group") == group:
                print(_as_json(event) if as_json else clean(_told(event)), flush=True)
    except AdminError as error:
        print(clean(f"tidegate: {error}"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


def _all(client: Client) -> Iterator[Happened]:
    """Every event from those that are kept on, across streams that end.

    A server that was started anew may count from 1 again, so ids alone do not tell what was seen: each stream is asked
    for all that is kept, and what was seen by id and time is skipped.

    Raises:
        AdminError: There was never an answer.
    """
    seen: OrderedDict[tuple[str, object], None] = OrderedDict()
    failures = 0
    while True:
        try:
            for event in _read(client.lines("v1", "events", headers={"Last-Event-ID": "0"})):
                failures = 0
                if (key := (event.id, event.data.get("at"))) not in seen:
                    seen[key] = None
                    yield event
                while len(seen) > _REMEMBERED:
                    seen.popitem(last=False)
        except AdminError as error:
            if not seen:
                raise
            if not failures:
                print(clean(f"tidegate: {error}; trying again"), file=sys.stderr, flush=True)
        time.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
        failures += 1


def _read(lines: Iterable[str]) -> Iterator[Happened]:
    """The events of a stream; comments and what is cut off at its end are skipped."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        if "data" in fields:
            yield Happened(fields.get("id", ""), fields.get("event", "message"), json.loads(fields["data"]))
        fields = {}


def _as_json(event: Happened) -> str:
    return json.dumps({"id": event.id, "event": event.kind, **event.data}, ensure_ascii=False)


def _told(event: Happened) -> str:
    data = event.data
    head = f"{moment(data.get('at'))}  {event.kind:7}"
    match event.kind:
        case "version":
            return f"{head}  {data['group']} {short(data['version'])} (seq {data['seq']}): {data['origin']['change']}"
        case "ack":
            return f"{head}  {data['group']} {data['node']}: {data['type']} {short(data['version'])}"
        case "nack":
            places = "".join(f"\n    declared in {place(each)}" for each in data.get("culprit", []))
            said = data["message"].replace("\n", "\n    ")
            return f"{head}  {data['group']} {data['node']}: {data['type']} {short(data['version'])}: {said}{places}"
        case "source":
            return f"{head}  {data['source']}: {data['error'] or 'no error'}"
        case "degradation":
            leads = f" to {data['backend']}" if data["backend"] else ""
            numbers = f", {watched(data)} {number(data['lag'])} of {number(data['threshold'])}"
            value = numbers if data["lag"] is not None else ""
            return f"{head}  {data['group']} {data['route']}: {data['decision']}{leads} ({data['reason']}{value})"
        case "switch":
            now = switch_now(data["after"])
            return f"{head}  {data['target']}: {now} by {data['by']}: {data['reason']}"
        case _:
            rest = {key: value for key, value in data.items() if key != "at"}
            return f"{head}  {json.dumps(rest, ensure_ascii=False)}"

"""`/v1/events`: server-sent events, resumed by id, ended by the server."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from tests.unit.admin.client import Client
from tests.unit.admin.world import NOW_TEXT, World
from xds_server.admin import events
from xds_server.ir.events import EventKind
from xds_server.status.events import EventBus

HEARTBEAT = ": ping"


async def block(response: aiohttp.ClientResponse) -> dict[str, str]:
    """The next event by its fields; comments are skipped. Empty at the end of the stream."""
    fields: dict[str, str] = {}
    while line := (await asyncio.wait_for(response.content.readline(), 5)).decode():
        text = line.rstrip("\n")
        if not text and fields:
            return fields
        if text and not text.startswith(":"):
            name, _, value = text.partition(": ")
            fields[name] = value
    return fields


async def test_events_come_as_they_happen(client: Client, world: World) -> None:
    world.bus.emit(EventKind.ACK, {"node": "before"})
    async with client.http.get("/v1/events") as response:
        assert response.content_type == "text/event-stream"
        world.bus.emit(EventKind.NACK, {"node": "n2", "message": "two\nlines"})
        event = await block(response)
    assert (event["id"], event["event"]) == ("2", "nack")
    assert json.loads(event["data"]) == {"at": NOW_TEXT, "node": "n2", "message": "two\nlines"}


@pytest.mark.parametrize(
    ("seen", "ids"),
    [("1", ["2", "3", "4"]), ("3", ["4"]), ("nonsense", ["4"]), ("-1", ["4"])],
)
async def test_a_follower_goes_on_where_it_was(client: Client, world: World, seen: str, ids: list[str]) -> None:
    for number in range(3):
        world.bus.emit(EventKind.VERSION, {"seq": number})
    async with client.http.get("/v1/events", headers={"Last-Event-ID": seen}) as response:
        world.bus.emit(EventKind.SOURCE, {})
        assert [(await block(response))["id"] for _ in ids] == ids


async def test_an_id_of_an_earlier_process_is_sent_all_that_is_kept(client: Client, world: World) -> None:
    for number in range(3):
        world.bus.emit(EventKind.VERSION, {"seq": number})
    async with client.http.get("/v1/events", headers={"Last-Event-ID": "999"}) as response:
        assert [(await block(response))["id"] for _ in range(3)] == ["1", "2", "3"]


@pytest.mark.parametrize(("seen", "ids"), [(None, [1, 2, 3]), ("2", [3]), ("3", []), ("999", [1, 2, 3])])
async def test_what_is_kept_is_sent_to_those_who_have_not_seen_it(
    client: Client, world: World, seen: str | None, ids: list[int]
) -> None:
    for number in range(3):
        world.bus.emit(EventKind.VERSION, {"seq": number})
    headers = {"Last-Event-ID": seen} if seen else {}
    async with client.http.get("/v1/events?follow=false", headers=headers) as response:
        lines = (await response.text()).splitlines()
    assert [int(line.removeprefix("id: ")) for line in lines if line.startswith("id: ")] == ids


async def test_a_follower_that_falls_1000_events_behind_is_cut_off_and_nobody_waits_for_it() -> None:
    bus = EventBus(lambda: 0.0)
    slow, quick = bus.follow(), bus.follow()
    first = [asyncio.ensure_future(anext(each)) for each in (slow, quick)]
    await asyncio.sleep(0)
    for number in range(1500):
        bus.emit(EventKind.SOURCE, {"number": number})
        if number == 0:
            await asyncio.gather(*first)
        else:
            assert (await anext(quick)).data == {"number": number}
    assert len([each async for each in slow]) < 1000
    assert len(bus._followers) == 1


async def test_quiet_streams_carry_heartbeats(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT", 0.01)
    async with client.http.get("/v1/events") as response:
        line = await asyncio.wait_for(response.content.readline(), 5)
    assert line.decode().strip() == HEARTBEAT


async def test_a_closed_bus_ends_the_stream(client: Client, world: World) -> None:
    async with client.http.get("/v1/events") as response:
        await asyncio.sleep(0.01)
        world.bus.close()
        assert await block(response) == {}


async def test_a_follower_that_left_is_forgotten(client: Client, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT", 0.01)
    app = client.http.app
    assert app is not None
    async with client.http.get("/v1/events") as response:
        await response.content.readline()
        assert len(app[events.STREAMS]) == 1
    for _ in range(200):
        if not app[events.STREAMS]:
            break
        await asyncio.sleep(0.01)
    assert not app[events.STREAMS]
    assert not world.bus._followers

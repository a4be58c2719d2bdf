"""K16: names and types that do not exist (any more) end no stream and spoil no answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.conformance.client import Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server, restartable
from tests.conformance.wire import BOTH, Variant

UNKNOWN = "type.googleapis.com/example.v1.Nothing"
V2 = "type.googleapis.com/envoy.api.v2.Cluster"


async def _live_and_dead(stream: Stream, world: World, version: str = "") -> None:
    """Ask for a live and a dead route and for types that nobody has; then see the stream go on."""
    stream.ask("rds", "live", "dead", version=version)
    for url in (UNKNOWN, V2):
        stream.ask(url, "something")
    response = await stream.next("rds", within=2)
    assert response.names == {"live"}
    assert response.removed == ({"dead"} if stream.variant is Variant.DELTA else set())
    stream.ask("cds")
    await stream.until(lambda: stream.of("cds"))
    await asyncio.sleep(1)
    world.write("cluster", marked("cds", "later", 1))
    await stream.holding("cds", {"later": 1})
    assert not [each for each in stream.received if each.key in {UNKNOWN, V2} and each.names]


@pytest.mark.parametrize("variant", BOTH)
async def test_k16_dead_names_and_unknown_types(clients: Clients, world: World, variant: Variant) -> None:
    world.write("live", marked("rds", "live"))
    world.write("dead", marked("rds", "dead"))
    before = await clients.stream(variant, world)
    before.ask("rds", "live", "dead")
    await before.holding("rds", {"live": 0, "dead": 0})
    world.remove("dead")
    probe = await clients.stream(Variant.DELTA, world)
    probe.ask("rds", "dead")
    await probe.until(lambda: any("dead" in each.removed for each in probe.received))
    await _live_and_dead(await clients.stream(variant, world), world)


@pytest.mark.timeout(120)
async def test_k16_after_a_restart_of_the_server(tmp_path: Path) -> None:
    async with restartable(tmp_path) as server:
        worlds = {variant: server.world(variant) for variant in BOTH}
        versions: dict[Variant, str] = {}
        async with server.clients() as clients:
            for variant, world in worlds.items():
                world.write("live", marked("rds", "live"))
                world.write("dead", marked("rds", "dead"))
                stream = await clients.stream(variant, world)
                stream.ask("rds", "live", "dead")
                await stream.holding("rds", {"live": 0, "dead": 0})
                versions[variant] = stream.received[-1].version
                world.remove("dead")
        await server.restart()
        await asyncio.gather(*(_again(server, worlds[variant], variant, versions[variant]) for variant in BOTH))


async def _again(server: Server, world: World, variant: Variant, version: str) -> None:
    async with server.clients() as clients:
        await _live_and_dead(await clients.stream(variant, world), world, version)

"""K06: on reconnect a delta client is told what changed and what vanished meanwhile, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.conformance.client import QUIET
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server, restartable
from tests.conformance.wire import Variant

KEYS = ("cds", "lds", "eds", "sds")
"""Two by wildcard, two by name."""


def _names(key: str, *names: str) -> tuple[str, ...]:
    return () if key in {"cds", "lds"} else names


async def _versions(clients: Clients, world: World, key: str) -> dict[str, str]:
    """The versions of a and b, from a stream of their own."""
    stream = await clients.stream(Variant.DELTA, world, "reader")
    stream.ask(key, *_names(key, "a", "b"))
    await stream.until(lambda: stream.names_of(key) == {"a", "b"})
    return {name: version for response in stream.of(key) for name, version in response.versions.items()}


@pytest.mark.parametrize("key", KEYS)
async def test_k06_what_vanished_and_what_changed(clients: Clients, world: World, key: str) -> None:
    world.write("ab", marked(key, "a"), marked(key, "b"))
    current = await _versions(clients, world, key)
    stream = await clients.stream(Variant.DELTA, world)
    stream.ask(key, *_names(key, "a", "b", "gone"), initial={"a": current["a"], "b": "old", "gone": "x1"})
    response = await stream.next(key)
    assert response.names == {"b"}
    assert response.removed == {"gone"}
    await stream.quiet()


@pytest.mark.timeout(120)
async def test_k06_restart_of_the_server(tmp_path: Path) -> None:
    async with restartable(tmp_path) as server, server.clients() as clients:
        worlds = {key: server.world(key) for key in KEYS}
        for key, world in worlds.items():
            world.write("ab", marked(key, "a"), marked(key, "b"))
        held = dict(
            zip(KEYS, await asyncio.gather(*(_versions(clients, worlds[key], key) for key in KEYS)), strict=True)
        )
        await server.restart()
        await asyncio.gather(*(_same_after_restart(server, worlds[key], key, held[key]) for key in KEYS))


async def _same_after_restart(server: Server, world: World, key: str, held: dict[str, str]) -> None:
    async with server.clients() as clients:
        same = await clients.stream(Variant.DELTA, world)
        same.ask(key, *_names(key, "a", "b"), initial=held)
        more = await clients.stream(Variant.DELTA, world)
        more.ask(key, *_names(key, "a", "b", "gone"), initial={**held, "gone": "x1"})
        response = await more.next(key)
        assert not response.names
        assert response.removed == {"gone"}
        await asyncio.sleep(QUIET)
        assert not any(each.names or each.removed for each in same.received), "at most a first answer that is empty"
        await more.quiet()
        world.write("ab", marked(key, "a", 1), marked(key, "b"))
        await same.sent(key, "a")
        assert same.received[-1].names == {"a"}

"""K65, K67 in raw SDS: secrets and references in any order; a rotation sends secrets only."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.client import Stream
from tests.conformance.documents import World, marked
from tests.conformance.follow import start
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, Variant
from xds_server.demo.world import cluster, listener, routes, secret_reference, transport_socket

SECRET = "edge-secret"
LIMIT = 2.0
"""Seconds from the last piece to its arrival."""


def _listener() -> list[dict[str, Any]]:
    return [listener("edge", "edge-routes", tls=secret_reference(SECRET)), routes("edge-routes", [])]


def _backend() -> dict[str, Any]:
    socket = transport_socket("UpstreamTlsContext", secret_reference(SECRET))
    return cluster("backend", type="STATIC", eds_cluster_config=None, transport_socket=socket)


async def _arrives(stream: Stream, mark: object) -> None:
    """The listener, its route configuration and its secret are all there."""
    await stream.holding("sds", {SECRET: mark}, within=LIMIT)
    await stream.until(lambda: stream.names_of("lds") == {"edge"} and stream.names_of("rds") == {"edge-routes"})


@pytest.mark.parametrize("variant", BOTH)
async def test_k65_secret_before_reference(clients: Clients, world: World, variant: Variant) -> None:
    world.write("secret", marked("sds", SECRET, 1))
    stream = await clients.stream(variant, world)
    start(stream)
    await asyncio.sleep(0.3)
    world.write("listener", *_listener())
    await _arrives(stream, 1)


@pytest.mark.parametrize("variant", BOTH)
async def test_k65_reference_before_secret(server: Server, clients: Clients, world: World, variant: Variant) -> None:
    world.write("listener", *_listener())
    world.write("cluster", _backend())
    stream = await clients.stream(variant, world)
    start(stream)
    await server.served(world)
    await asyncio.sleep(0.5)
    assert not stream.names_of("lds")
    assert not stream.names_of("cds")
    assert await server.left_out(world) == {"edge": "NoSecret", "backend": "NoSecret"}
    world.write("secret", marked("sds", SECRET, 1))
    await _arrives(stream, 1)
    await stream.until(lambda: stream.names_of("cds") == {"backend"}, within=LIMIT)
    assert await server.left_out(world) == {}


@pytest.mark.parametrize("variant", BOTH)
async def test_k65_secret_deleted_and_created_again(
    server: Server, clients: Clients, world: World, variant: Variant
) -> None:
    world.write("listener", *_listener())
    world.write("secret", marked("sds", SECRET, 1))
    stream = await clients.stream(variant, world)
    start(stream)
    await _arrives(stream, 1)
    for mark in (2, 3):
        stream.skip()
        before = (await server.group(world))["seq"]
        world.remove("secret")
        await server.served(world, after=before)
        assert await server.left_out(world) == {SECRET: "StillReferenced"}
        await stream.quiet("lds", "sds", seconds=0.3)
        world.write("secret", marked("sds", SECRET, mark))
        await _arrives(stream, mark)
    assert await server.left_out(world) == {}


@pytest.mark.parametrize("variant", BOTH)
async def test_k67_a_rotation_sends_secrets_only(clients: Clients, world: World, variant: Variant) -> None:
    world.write("listener", *_listener(), _backend())
    world.write("secret", marked("sds", SECRET, 0))
    stream = await clients.stream(variant, world)
    start(stream)
    await _arrives(stream, 0)
    await stream.until(lambda: stream.names_of("cds") == {"backend"})
    await asyncio.sleep(0.3)
    others = [len(stream.of(key)) for key in ("cds", "eds", "lds", "rds")]
    seen = len(stream.of("sds"))
    for mark in range(1, 21):
        world.write("secret", marked("sds", SECRET, mark))
        await stream.holding("sds", {SECRET: mark}, within=LIMIT)
    await stream.quiet("sds")
    assert len(stream.of("sds")) == seen + 20
    assert [len(stream.of(key)) for key in ("cds", "eds", "lds", "rds")] == others

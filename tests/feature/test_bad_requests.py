"""Bad or big requests on a stream: the right status or the right answer, and other streams go on undisturbed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest
import pytest_asyncio
from envoy.service.discovery.v3 import discovery_pb2

from tests.conformance.client import Stream, hold
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients
from tests.conformance.wire import BOTH, Variant, delta_request, node_of, sotw_request

INVALID, EXHAUSTED = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED

MAX_NAMES = 100_000
"""Tidegate's default of `xds.max_names`."""


@pytest_asyncio.fixture(loop_scope="session", params=BOTH)
async def variant(request: pytest.FixtureRequest, clients: Clients, world: World) -> AsyncIterator[Variant]:
    """The variant of the bad stream; before and after it a good stream of the other one gets an update."""
    good = await clients.stream(Variant.DELTA if request.param is Variant.SOTW else Variant.SOTW, world)
    world.write("good", marked("cds", "good", 1))
    good.ask("cds")
    await good.holding("cds", {"good": 1})
    yield request.param
    world.write("good", marked("cds", "good", 2))
    await good.holding("cds", {"good": 2}, within=2)


async def _served(stream: Stream, *, within: float = 2) -> None:
    """The stream gets its cluster."""
    stream.ask("cds", "good")
    await stream.holding("cds", {"good": 1}, within=within)


async def _ends(stream: Stream, code: grpc.StatusCode, *words: str) -> None:
    """The stream ends with a code and a text that holds all words."""
    found, details = await stream.end(within=5)
    assert found is code, details
    assert all(word in details for word in words), details


@pytest.mark.parametrize(
    "garbage",
    [b"\xff\xff\xff\xff", b"\x0a", b"\x12\x05ab", b"\x00" * 100, b'{"type_url": "x"}', bytes(range(256)) * 64],
)
async def test_garbage_bytes(clients: Clients, variant: Variant, garbage: bytes) -> None:
    fresh = await clients.bare(variant)
    fresh.send(garbage)
    await _ends(fresh, INVALID)


async def test_garbage_bytes_after_good_ones(clients: Clients, world: World, variant: Variant) -> None:
    stream = await clients.stream(variant, world)
    await _served(stream)
    stream.send(b"\xff\xff\xff\xff")
    await _ends(stream, INVALID, "not a")


async def test_an_empty_message(clients: Clients, variant: Variant) -> None:
    stream = await clients.bare(variant)
    stream.send(b"")
    await _ends(stream, INVALID)


async def test_text_that_is_not_utf_8(clients: Clients, world: World, variant: Variant) -> None:
    stream = await clients.stream(variant, world)
    request = sotw_request("cds", ["aaaa"]) if variant is Variant.SOTW else delta_request("cds", ["aaaa"])
    request.node.CopyFrom(node_of("bbbb", group=world.group))  # type: ignore[attr-defined]
    stream.send(request.SerializeToString().replace(b"aaaa", b"a\xff\xffa"))
    await _ends(stream, INVALID)
    node = await clients.bare(variant)
    node.send(request.SerializeToString().replace(b"bbbb", b"b\xff\xffb"))
    await _ends(node, INVALID)


async def test_an_empty_type_url(clients: Clients, world: World, variant: Variant) -> None:
    stream = await clients.stream(variant, world)
    await _served(stream)
    stream.send(discovery_pb2.DiscoveryRequest() if variant is Variant.SOTW else discovery_pb2.DeltaDiscoveryRequest())
    await _ends(stream, INVALID, "type_url")


async def test_a_type_that_nobody_knows(clients: Clients, world: World, variant: Variant) -> None:
    stream = await clients.stream(variant, world)
    for number in range(50):
        stream.ask(f"type.googleapis.com/example.Unknown{number}", "a")
    await _served(stream)


async def test_more_types_than_allowed(clients: Clients, world: World, variant: Variant) -> None:
    """A stream has as many states as types, and each request looks at all of them."""
    stream = await clients.stream(variant, world, answer=hold)
    for number in range(101):
        stream.ask(f"type.googleapis.com/example.Unknown{number}", "a")
    await _ends(stream, EXHAUSTED, "types")


async def test_a_megabyte_of_node_metadata(clients: Clients, world: World, variant: Variant) -> None:
    stream = await clients.stream(variant, world)
    metadata = {f"key-{number}": "x" * 1000 for number in range(1000)}
    stream.node = node_of("big", group=world.group, metadata=metadata)
    assert stream.node.ByteSize() > 1_000_000
    await _served(stream)


async def test_a_node_in_each_request(clients: Clients, world: World, variant: Variant) -> None:
    stream = await clients.stream(variant, world, node_always=True)
    stream.node = node_of("big", group=world.group, metadata={"extensions": "x" * 61_000})
    await _served(stream)
    for number in range(20):
        world.write("other", marked("eds", "other", number))
        stream.ask("eds", "other")
        await stream.holding("eds", {"other": number})


async def test_ten_thousand_names(clients: Clients, world: World, variant: Variant) -> None:
    names = [f"name-{number:05}" for number in range(10_000)]
    world.write("three", *(marked("eds", name, 1) for name in names[:3]))
    probe = await clients.stream(variant, world)
    probe.ask("eds", *names[:3])
    await probe.holding("eds", dict.fromkeys(names[:3], 1))
    stream = await clients.stream(variant, world)
    stream.ask("eds", *names)
    await stream.holding("eds", dict.fromkeys(names[:3], 1), within=2)
    if variant is Variant.DELTA:
        assert stream.received[-1].removed == set(names[3:])
    world.write("one", marked("eds", names[-1], 2))
    await stream.holding("eds", {**dict.fromkeys(names[:3], 1), names[-1]: 2}, within=2)


async def test_more_names_than_allowed(clients: Clients, world: World, variant: Variant) -> None:
    stream = await clients.stream(variant, world)
    stream.ask("eds", *(f"{number}" for number in range(MAX_NAMES + 1)))
    await _ends(stream, EXHAUSTED, "max_names", str(MAX_NAMES))


async def test_more_names_than_allowed_bit_by_bit(clients: Clients, world: World) -> None:
    stream = await clients.stream(Variant.DELTA, world)
    for part in range(11):
        stream.send(delta_request("eds", [f"{part}-{number}" for number in range(MAX_NAMES // 10)]))
    await _ends(stream, EXHAUSTED, "max_names", str(MAX_NAMES))


async def test_an_oversized_request(clients: Clients, world: World, variant: Variant) -> None:
    stream = await clients.stream(variant, world)
    await _served(stream)
    stream.send(b"\x0a" * (17 * 1024 * 1024))
    await _ends(stream, EXHAUSTED)


async def test_answers_to_what_was_never_sent(clients: Clients, world: World, variant: Variant) -> None:
    stream = await clients.stream(variant, world)
    make = sotw_request if variant is Variant.SOTW else delta_request
    stream.send(make("cds", ["good"], nonce="never", error="no"))
    await stream.sent("cds", "good")
    stream.skip()
    for nonce in ("never", "ffff", "0", ""):
        stream.send(make("cds", ["good"], nonce=nonce, error="x" * 100_000))
    await asyncio.sleep(0.2)
    stream.ask("cds", "good")
    assert stream.ended is None
    world.write("good", marked("cds", "good", 5))
    await stream.holding("cds", {"good": 5})
    world.write("good", marked("cds", "good", 1))


async def test_many_requests_without_reading(clients: Clients, world: World, variant: Variant) -> None:
    """A client that asks again and again and answers nothing gets an answer each time at most."""
    stream = await clients.stream(variant, world, answer=hold)
    for number in range(300):
        stream.ask("cds", "good", *(["ghost"] if number % 2 else []))
    await stream.sent("cds", "good")
    await asyncio.sleep(0.3)
    assert len(stream.received) <= 301

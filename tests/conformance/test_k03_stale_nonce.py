"""K03: a request with a stale nonce accepts nothing, but the names that it carries count."""

from __future__ import annotations

from contextlib import suppress

from tests.conformance.client import Stream, hold
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients
from tests.conformance.wire import Received, Variant, delta_request, sotw_request

ROUNDS = 20


async def test_k03_every_request_is_late(clients: Clients, world: World) -> None:
    """Each ACK is held back until the next update is out, or until it is clear that none comes before the ACK."""
    world.write("a", marked("eds", "a", 0))
    world.write("b", marked("eds", "b"))
    stream = await clients.stream(Variant.SOTW, world, answer=hold)
    stream.ask("eds", "a")
    late = await stream.next("eds")
    stream.names["eds"] = {"a", "b"}
    arrived = None
    for number in range(1, ROUNDS + 1):
        world.write("a", marked("eds", "a", number))
        late = await _answer_late(stream, late)
        if arrived is None and "b" in stream.names_of("eds"):
            arrived = number
    assert arrived is not None
    assert arrived <= 3
    stream.answer = Stream.ack
    stream.ack(late)
    await stream.holding("eds", {"a": ROUNDS, "b": 0}, within=1)
    assert len([each for each in stream.received if "b" in each.names]) == 1


async def _answer_late(stream: Stream, response: Received) -> Received:
    """ACK `response` after the next one has come, or after 100 ms; the newest response."""
    with suppress(TimeoutError):
        await stream.until(lambda: stream.unread("eds"), within=0.1)
    stream.ack(response)
    return await stream.next("eds")


async def test_k03_new_names_on_a_stale_request(clients: Clients, world: World) -> None:
    world.write("ab", marked("eds", "a", 1), marked("eds", "b"))
    stream = await clients.stream(Variant.SOTW, world, answer=hold)
    stream.ask("eds", "a")
    first = await stream.next("eds")
    stream.ack(first)
    world.write("ab", marked("eds", "a", 2), marked("eds", "b"))
    second = await stream.next("eds")
    stream.send(sotw_request("eds", ["a", "b"], version=first.version, nonce=first.nonce))
    stream.names["eds"] = {"a", "b"}
    stream.ack(second)
    third = await stream.next("eds", within=1)
    assert third.names == {"b"}
    stream.ack(third)
    await stream.quiet()


async def test_k03_delta_ignores_no_request_for_its_nonce(clients: Clients, world: World) -> None:
    world.write("ab", marked("eds", "a", 1), marked("eds", "b"))
    stream = await clients.stream(Variant.DELTA, world, answer=hold)
    stream.ask("eds", "a")
    first = await stream.next("eds")
    stream.ack(first)
    world.write("ab", marked("eds", "a", 2), marked("eds", "b"))
    second = await stream.next("eds")
    stream.send(delta_request("eds", ["b"], nonce=first.nonce))
    third = await stream.next("eds", within=1)
    assert third.names == {"b"}
    stream.ack(second)
    stream.ack(third)
    await stream.quiet()

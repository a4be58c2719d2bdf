"""K02: `error_detail` makes a NACK, not the version; a change of subscription is none."""

from __future__ import annotations

from tests.conformance.client import SLACK, hold
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import Variant, sotw_request
from xds_server.demo.polling import until


async def test_k02_a_nack_at_an_unchanged_version(server: Server, clients: Clients, world: World) -> None:
    world.write("ab", marked("eds", "a"), marked("eds", "b"))
    stream = await clients.stream(Variant.SOTW, world, f"node-{world.group}")
    stream.ask("eds", "a")
    first = await stream.next("eds")
    stream.answer = hold
    stream.ask("eds", "a", "b")
    second = await stream.next("eds")
    assert second.version == first.version
    assert "b" in second.names
    stream.nack(second, "b is not to my liking")

    async def refused() -> bool:
        told = (await server.node(f"node-{world.group}")).get("types", {}).get("eds", {}).get("nacked")
        return bool(told) and told["nonce"] == second.nonce and told["error"]["message"] == "b is not to my liking"

    await until(refused, within=2 * SLACK, what="the node page shows the NACK")
    await stream.quiet()


async def test_k02_a_stale_request_is_no_nack(server: Server, clients: Clients, world: World) -> None:
    world.write("a", marked("eds", "a", 1))
    world.write("b", marked("eds", "b"))
    stream = await clients.stream(Variant.SOTW, world, f"node-{world.group}")
    stream.ask("eds", "a")
    first = await stream.next("eds")
    stream.answer = hold
    world.write("a", marked("eds", "a", 2))
    second = await stream.next("eds")
    stream.send(sotw_request("eds", ["a", "b"], version=first.version, nonce=first.nonce))
    await stream.quiet(seconds=0.3)
    entry = (await server.node(f"node-{world.group}"))["types"]["eds"]
    assert entry["nacked"] is None
    assert entry["subscribed"]["names"] == 2
    assert entry["pending"]
    assert await server.metric("tidegate_nacks_total", group=world.group) == 0
    stream.names["eds"] = {"a", "b"}
    stream.ack(second)
    await stream.holding("eds", {"a": 2, "b": 0}, within=1)

"""Types that nothing here knows deeper are served as they are; an independent decoder reads what is sent."""

from __future__ import annotations

import pytest

from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, MESSAGES, Variant, mark_of
from tests.feature.decoders import DECODERS

OTHERS = ("srds", "vhds", "rtds", "ecds")


@pytest.mark.parametrize("key", OTHERS)
@pytest.mark.parametrize("variant", BOTH)
async def test_other_types_by_the_same_rules(
    server: Server, clients: Clients, world: World, variant: Variant, key: str
) -> None:
    world.write("a", marked(key, "a", 1), marked(key, "b", 1))
    stream = await clients.stream(variant, world)
    stream.ask(key, "a", "b")
    await stream.holding(key, {"a": 1, "b": 1})
    stream.skip()
    world.write("a", marked(key, "a", 2), marked(key, "b", 1))
    response = await stream.next(key)
    assert response.names == {"a"}
    await stream.quiet(seconds=0.3)
    group = await server.group(world)
    (version,) = [entry["version"] for url, entry in group["types"].items() if url.endswith(_type_name(key))]
    assert version == response.version


@pytest.mark.parametrize("variant", BOTH)
async def test_scoped_routes_have_the_legacy_wildcard(clients: Clients, world: World, variant: Variant) -> None:
    world.write("a", marked("srds", "a", 1), marked("srds", "b", 1))
    stream = await clients.stream(variant, world)
    stream.ask("srds")
    await stream.holding("srds", {"a": 1, "b": 1})


@pytest.mark.parametrize("variant", BOTH)
async def test_an_independent_decoder_reads_every_type(clients: Clients, world: World, variant: Variant) -> None:
    world.write("all", *(marked(key, "the-name", 7) for key in MESSAGES))
    stream = await clients.stream(variant, world)
    for key in MESSAGES:
        stream.ask(key, "the-name")
    await stream.until(lambda: all(stream.names_of(key) for key in MESSAGES))
    for key, decoder in DECODERS.items():
        body = stream.holds[key]["the-name"]
        message = decoder().parse(body)
        assert "the-name" in (getattr(message, "name", ""), getattr(message, "cluster_name", "")), key
        assert mark_of(bytes(message)) == "7", key
        assert MESSAGES[key].FromString(bytes(message)) == MESSAGES[key].FromString(body), key


def _type_name(key: str) -> str:
    return MESSAGES[key].DESCRIPTOR.full_name

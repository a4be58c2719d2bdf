"""K08: wildcard is a state of its own, apart from the names that are asked for."""

from __future__ import annotations

import itertools

from tests.conformance.client import Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients
from tests.conformance.wire import Variant, delta_request


class Clusters:
    """Clusters A and B, which can be changed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._marks = itertools.count()
        for name in ("A", "B"):
            self.change(name)

    def change(self, name: str) -> str:
        """Change a cluster; its new mark."""
        mark = str(next(self._marks))
        self._world.write(name, marked("cds", name, mark))
        return mark

    async def is_sent(self, stream: Stream, name: str) -> None:
        """A change of a cluster comes in one response, which in delta holds nothing else."""
        self.change(name)
        response = await stream.next("cds")
        assert name in response.names
        if stream.variant is Variant.DELTA:
            assert response.names == {name}
        assert not response.removed

    async def is_not_sent(self, stream: Stream, *names: str) -> None:
        """Changes of these clusters do not come."""
        for name in names:
            self.change(name)
        await stream.quiet("cds", seconds=0.8)


async def test_k08_delta(clients: Clients, world: World) -> None:
    clusters = Clusters(world)
    stream = await clients.stream(Variant.DELTA, world)
    stream.ask("cds")
    await stream.holding("cds", {"A": 0, "B": 1})
    stream.send(delta_request("cds", ["A"]))
    assert (await stream.next("cds")).names == {"A"}
    await clusters.is_sent(stream, "B")
    stream.send(delta_request("cds", [], ["*"]))
    await clusters.is_not_sent(stream, "B")
    await clusters.is_sent(stream, "A")
    stream.send(delta_request("cds", [], ["A"]))
    await clusters.is_not_sent(stream, "A", "B")


async def test_k08_delta_unsubscribe_under_the_wildcard(clients: Clients, world: World) -> None:
    Clusters(world)
    stream = await clients.stream(Variant.DELTA, world)
    stream.ask("cds")
    await stream.holding("cds", {"A": 0, "B": 1})
    stream.send(delta_request("cds", ["A"]))
    assert (await stream.next("cds")).names == {"A"}
    stream.send(delta_request("cds", [], ["A"]))
    response = await stream.next("cds")
    assert response.names == {"A"}
    assert not response.removed
    await stream.quiet()


async def test_k08_sotw(clients: Clients, world: World) -> None:
    clusters = Clusters(world)
    stream = await clients.stream(Variant.SOTW, world)
    stream.ask("cds")
    await stream.holding("cds", {"A": 0, "B": 1})
    await clusters.is_sent(stream, "B")
    stream.ask("cds", "*", "A")
    await _skip_an_answer(stream)
    await clusters.is_sent(stream, "B")
    stream.ask("cds", "A")
    await _skip_an_answer(stream)
    await clusters.is_not_sent(stream, "B")
    stream.ask("cds")
    await _skip_an_answer(stream)
    await clusters.is_not_sent(stream, "B", "A")


async def _skip_an_answer(stream: Stream) -> None:
    """A changed subscription may be answered, with the subscribed resources at once."""
    try:
        response = await stream.next("cds", within=0.3)
    except TimeoutError:
        return
    assert response.names == {"A", "B"} & (stream.names["cds"] if "*" not in stream.names["cds"] else {"A", "B"})

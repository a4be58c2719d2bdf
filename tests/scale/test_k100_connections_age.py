"""K100: connections age out, so that clients spread over a server that was started late, without loss or herd."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import grpc

from tests.conformance.client import connect
from tests.conformance.documents import World, marked
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import BOTH, Variant, marks_of
from tests.scale.balancer import Balancer
from tests.scale.returning import Returning
from tests.scale.scaling import scaled
from tests.support.fleet import SLACK
from xds_server.demo.polling import until
from xds_server.stream.server import LAST_WORDS_MS

CLIENTS = 40
CLUSTERS = 100
JITTER = 0.1
"""By how much of the age gRPC varies it, either way."""


async def _server(folder: Path, age: float, stack: AsyncExitStack) -> Restartable:
    server = await stack.enter_async_context(restartable(folder, {"xds": {"max_connection_age": f"{age:g}s"}}))
    world = World(server.files, "default")
    world.write("all", *(marked("cds", f"c-{number}", 0) for number in range(CLUSTERS)))
    await server.served(world)
    return server


async def _clients(balancer: Balancer, stack: AsyncExitStack) -> list[Returning]:
    """Clients that hold everything; they go on until the end of the test."""
    clients = []
    for number in range(CLIENTS):
        channel = await stack.enter_async_context(connect(balancer.address))
        clients.append(Returning(channel, BOTH[number % 2], f"n-{number}"))
    tasks = [asyncio.create_task(client.run()) for client in clients]
    stack.callback(lambda: [task.cancel() for task in tasks])
    await _all_hold(clients, {})
    return clients


async def _all_hold(clients: list[Returning], news: dict[str, str]) -> None:
    wanted = {f"c-{number}": "0" for number in range(CLUSTERS)} | news

    async def there() -> bool:
        return all(marks_of(client.holds) == wanted for client in clients)

    await until(there, within=5 * SLACK, what=f"all clients hold {news}")


async def _moved(clients: list[Returning], times: int, within: float) -> None:
    async def there() -> bool:
        return all(len(client.visits) > times for client in clients)

    await until(there, within=within, what=f"all clients have moved {times} times")


def _change(*servers: Restartable, mark: int) -> None:
    for server in servers:
        World(server.files, "default").write("news", marked("cds", "news", mark))


@scaled("age", 2.0, 10.0)
async def test_k100_connections_age_and_spread(age: float, tmp_path: Path) -> None:
    """Two ages long: the second server is there in the first one."""
    async with AsyncExitStack() as stack:
        first, second = [await _server(path, age, stack) for path in (tmp_path / "first", tmp_path / "second")]
        balancer = await stack.enter_async_context(Balancer(first.xds))
        clients = await _clients(balancer, stack)
        balancer.targets.append(second.xds)
        _change(first, second, mark=1)
        await _moved(clients, 1, within=2 * (age + LAST_WORDS_MS / 1000) * SLACK)
        await _all_hold(clients, {"news": "1"})
        _change(first, second, mark=2)
        await _moved(clients, 2, within=2 * (age + LAST_WORDS_MS / 1000) * SLACK)
        await _all_hold(clients, {"news": "2"})
        shares = balancer.open[first.xds], balancer.open[second.xds]
        assert sum(shares) == CLIENTS
        assert min(shares) >= 0.4 * CLIENTS
    _check_visits(clients, age)


def _spread(clients: list[Returning], visit: int) -> float:
    """Seconds from the first to the last end of all clients' streams of that number.

    A test that is held up sees ends together that came apart, so one round may look like a herd on a busy machine.
    """
    ends = [client.visits[visit].ended for client in clients]
    return max(ends) - min(ends)


def _check_visits(clients: list[Returning], age: float) -> None:
    """Each client was ended by age only, at a time of its own, and was sent nothing that it had."""
    assert max(_spread(clients, visit) for visit in (0, 1)) >= JITTER * age
    for client in clients:
        for visit in client.visits[:-1]:
            assert visit.code is grpc.StatusCode.UNAVAILABLE
            assert visit.ended - visit.opened >= (1 - JITTER) * age
        for visit in client.visits[1:]:
            assert client.variant is Variant.SOTW or visit.names <= {"news"}
        # State of the world: all of it, when something has changed.
        whole = sum(bool(visit.names) for visit in client.visits)
        assert whole <= 3

"""Large answers do not hold the event loop."""

from __future__ import annotations

import asyncio
import time

from tests.unit.admin.client import Client
from tests.unit.admin.documents import cluster
from tests.unit.admin.world import CALM, NOW, FakeNode, World, resource, typeset
from xds_server.admin.worker import Worker, WorkStoppedError
from xds_server.snapshot.snapshot import Snapshot
from xds_server.wire.types import CLUSTER


async def longest_wait(stop: asyncio.Event) -> float:
    """For how long at most the loop's thread worked without coming round, in seconds; what other processes take is left out."""
    longest, last = 0.0, time.thread_time()
    while not stop.is_set():
        await asyncio.sleep(0)
        now = time.thread_time()
        longest, last = max(longest, now - last), now
    return longest


async def test_ten_thousand_resources(client: Client, world: World) -> None:
    many = typeset(*(resource(cluster(f"c{number}")) for number in range(10_000)))
    world.group.publish(Snapshot("default", 3, NOW, {CLUSTER: many}))
    stop = asyncio.Event()
    watch = asyncio.create_task(longest_wait(stop))
    async with client.http.get("/v1/groups/default/versions/3") as response:
        body = await response.read()
    stop.set()
    assert body.count(b'"type":"cds"') == 10_000
    assert await watch < 0.25  # in one piece it would take a second or more


async def test_a_thousand_nodes(client: Client, world: World) -> None:
    for number in range(1000):
        types = dict.fromkeys(("cds", "eds", "lds", "rds", "sds"), CALM)
        world.tracker.joined(FakeNode(f"node-{number}", types=types))
    assert (await client.get("/v1/groups"))["groups"][0]["nodes"]["connected"] == 1003
    assert len((await client.get("/v1/nodes"))["nodes"]) == 1003


async def test_a_stopped_worker_ends_what_it_does() -> None:
    worker = Worker()

    def forever() -> None:
        while True:
            worker.pause()

    work = asyncio.create_task(worker.run(forever))
    await asyncio.sleep(0.01)
    worker.stop()
    try:
        await asyncio.wait_for(work, 2)
    except WorkStoppedError:
        pass
    else:
        raise AssertionError("it should have been stopped")

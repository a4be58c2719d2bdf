"""A slow check in the pipeline: the loop goes on, nothing piles up, and snapshots keep their order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping

from xds_server.demo.polling import until
from xds_server.demo.world import cluster
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.origin import Origin
from xds_server.snapshot.assemble import Assembler, Find
from xds_server.snapshot.closure import Key
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.snapshot.snapshot import LeftOut
from xds_server.telemetry.metrics import Metrics
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.wire.resource import Resource


class Slow:
    """A gate that waits to be opened, and notes what it was shown."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.shown: list[set[str]] = []

    def __call__(self, _group: str, changed: Mapping[Key, Resource | None], _before: Find) -> dict[Key, LeftOut]:
        self.shown.append({name for _, name in changed})
        assert self.opened.wait(30)
        return {}


async def test_changes_during_a_slow_check_become_one_more_round_with_the_newest() -> None:
    slow, groups = Slow(), Groups(lambda: 0.0)
    pipeline = Pipeline(Assembler(decode, prune_routes, slow), groups, Coalesce(), Metrics(), lambda _kind, _data: None)
    feed = pipeline.feed("files", "files")
    running = asyncio.create_task(pipeline.run())

    def declare(name: str) -> None:
        body = cluster(name, type="STATIC", eds_cluster_config=None)
        feed.replace([Unit("a.yaml", (NativeDocument("default", body, Origin("files", "a.yaml", 1, 1)),))])

    async def is_checking() -> bool:
        return bool(slow.shown)

    declare("first")
    feed.synced()
    await until(is_checking, within=20, what="the first check has begun")
    for number in range(20):
        declare(f"later-{number}")
        await asyncio.sleep(0.01)  # the loop is free: else this would not come back
    assert groups.get("default") is None
    slow.opened.set()

    async def is_served() -> bool:
        group = groups.get("default")
        return group is not None and group.current is not None and group.current.seq == 2

    await until(is_served, within=20, what="the newest is served")
    running.cancel()
    served = [
        {name for types in each.types.values() for name in types.resources}
        for each, _ in groups.obtain("default").history()
    ]
    assert served == [{"later-19"}, {"first"}]
    assert slow.shown == [{"first"}, {"first", "later-19"}]

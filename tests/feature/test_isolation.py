"""What goes wrong on one stream ends that stream, and what one client piles up is bounded."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack

import grpc
import pytest

from tests.conformance.client import Stream
from tests.conformance.documents import marked
from tests.conformance.wire import BOTH, URLS, Variant, delta_request, mark_of
from tests.feature.inprocess import Inside, inside
from xds_server.demo.world import route, routes
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.origin import Origin
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.snapshot.snapshot import Snapshot
from xds_server.status.events import EventBus
from xds_server.stream.connection import Connection
from xds_server.stream.session import Session
from xds_server.telemetry.metrics import Metrics
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.wire.resource import Resource
from xds_server.wire.response import Response


def _connection(server: Inside, node: str) -> Connection:
    """The server's end of the stream of a node."""
    (found,) = (each for each in server.tracker._live if each.id == node)
    assert isinstance(found, Connection)
    return found


@pytest.mark.parametrize("variant", BOTH)
async def test_a_fault_on_one_stream_reaches_no_other(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    async with inside() as server, AsyncExitStack() as stack:
        server.publish([marked("cds", "a", 1)])
        names = ("first", "broken", "last")
        streams = [await server.clients(stack).stream(variant, id=name) for name in names]
        for stream in streams:
            stream.ask("cds")
            await stream.holding("cds", {"a": 1})
        broken = _connection(server, "broken")._session
        publish = Session.publish

        def faulty(session: Session, snapshot: Snapshot, now: float) -> list[Response]:
            if session is broken:
                raise ZeroDivisionError
            return publish(session, snapshot, now)

        monkeypatch.setattr(Session, "publish", faulty)
        server.publish([marked("cds", "a", 2)])
        for stream in (streams[0], streams[2]):
            await stream.holding("cds", {"a": 2}, within=2)
        assert (await streams[1].end(within=2))[0] is grpc.StatusCode.UNKNOWN
        again = await server.clients(stack).stream(variant, id="broken")
        again.ask("cds")
        await again.holding("cds", {"a": 2})


async def test_what_a_client_piles_up_that_asks_and_does_not_read_is_bounded() -> None:
    """Each subscription is due an answer at once, and each answer has a nonce, so bytes, of its own."""
    big = marked("cds", "big", 1)
    big["metadata"] = {"filter_metadata": {"padding": {"bytes": "x" * 64 * 1024}}}
    async with inside() as server, AsyncExitStack() as stack:
        server.publish([big])
        stream = await server.clients(stack).stream(Variant.DELTA, id="greedy")
        stream.ask("cds", "big")
        await stream.sent("cds", "big")
        stream.reading.clear()
        asked = 2000
        for _ in range(asked):
            stream.send(delta_request("cds", ["big"]))
        await asyncio.sleep(1)
        assert len(_connection(server, "greedy")._outbox) <= 256
        stream.skip()
        stream.reading.set()
        await stream.sent("cds", "big")
        await server.until(server.in_sync, "all is answered")
        assert len(stream.received) <= asked + 1
        server.publish([{**big, "alt_stat_name": "mark-2;"}])
        await stream.holding("cds", {"big": 2})


async def test_stalled_readers_that_leave_make_no_noise(caplog: pytest.LogCaptureFixture) -> None:
    big = marked("cds", "big", 1)
    big["metadata"] = {"filter_metadata": {"padding": {"bytes": "x" * 4 * 1024 * 1024}}}
    async with inside() as server:
        server.publish([big])
        async with AsyncExitStack() as stack:
            streams: list[Stream] = []
            for number in range(20):
                stream = await server.clients(stack).stream(BOTH[number % 2])
                stream.reading.clear()
                stream.ask("cds")
                streams.append(stream)
            await server.until(lambda: server.counts.pushes["cds"] == len(streams), "all are sent the cluster")
        await server.until(lambda: not server.streams(), "no streams")
        await asyncio.sleep(0.2)
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING], caplog.text


async def test_a_response_that_can_not_be_written_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    async with inside() as server, AsyncExitStack() as stack:
        server.publish([marked("cds", "a", 1)])
        stream = await server.clients(stack).stream(Variant.SOTW)
        stream.ask("cds")
        await stream.holding("cds", {"a": 1})

        async def broken(_message: bytes) -> None:
            raise ZeroDivisionError

        (connection,) = server.tracker._live
        monkeypatch.setattr(connection, "_write", broken)
        server.publish([marked("cds", "a", 2)])
        assert (await stream.end(within=2))[0] is grpc.StatusCode.UNKNOWN
        await server.until(lambda: not server.streams(), "no streams")


async def test_a_fault_in_assembling_leaves_what_is_served() -> None:
    """A round that fails is told on every source; what it was to take in is taken in with the next change."""
    assembler, groups = Assembler(decode, prune_routes), Groups(time.time)
    bus = EventBus(time.time)
    pipeline = Pipeline(assembler, groups, Coalesce(0.001, 0.01), Metrics("0"), bus.emit)
    feed = pipeline.feed("files", "files")
    running = asyncio.create_task(pipeline.run())

    def declare(file: str, mark: int) -> None:
        document = NativeDocument("g", marked("cds", file, mark), Origin("files", file))
        feed.replace([Unit(file, (document,))])

    async def served() -> dict[str, str | None]:
        await pipeline.settled()
        current = groups.obtain("g").current
        assert current is not None
        return {each.name: mark_of(each.body) for each in current.typeset(URLS["cds"])}

    try:
        declare("a", 1)
        feed.synced()
        assert await served() == {"a": "1"}
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(assembler, "apply", _stumble)
            declare("b", 1)
            assert await served() == {"a": "1"}
        assert [each.reason for each in feed.report().problems] == ["AssemblyFailed"]
        declare("c", 1)
        assert await served() == {"a": "1", "b": "1", "c": "1"}
        assert not feed.report().problems
    finally:
        running.cancel()


async def test_a_fault_in_one_resource_holds_back_no_other_and_loses_nothing() -> None:
    faulty = {"b"}

    def prune(resource: Resource, missing: AbstractSet[str]) -> tuple[Resource | None, list[str]]:
        if resource.name in faulty:
            raise ZeroDivisionError
        return prune_routes(resource, missing)

    def declare(*names: str) -> list[str]:
        """New route configurations, of which a part refers to nothing; what is served after it."""
        documents = [
            routes(name, [{"match": {"path": "/"}, "direct_response": {"status": 200}}, route("nowhere")])
            for name in names
        ]
        unit = Unit(",".join(names), tuple(NativeDocument("g", each, Origin("files", "a")) for each in documents))
        for snapshot in assembler.apply([Batch(0, "files", {unit.key: unit})], 1.0):
            served.update(snapshot.typeset(URLS["rds"]).resources)
        return sorted(served)

    assembler = Assembler(decode, prune)
    served: dict[str, Resource] = {}
    assert declare("a", "b", "c") == ["a", "c"]
    assert [name for _, _, name in assembler.faults] == ["b"]
    assert declare("d") == ["a", "c", "d"]
    faulty.clear()
    assert declare("e") == ["a", "b", "c", "d", "e"]
    assert not assembler.faults


def _stumble(*_args: object) -> list[Snapshot]:
    raise ZeroDivisionError

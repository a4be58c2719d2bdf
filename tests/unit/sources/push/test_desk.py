"""The push source under virtual time: leases, what is handed over, what is told; restored sets; expected owners."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import pytest
from structlog.testing import capture_logs

from tests.unit.sources.recording import RecordingSink
from xds_server.ir.declared import Declared, EncodedDocument
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.sources.push import PushSource
from xds_server.sources.push.model import Changed, InvalidError, Limits, Place, PushedSet, Said, Settled
from xds_server.translate.native import decode
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER

pytestmark = pytest.mark.looptime

PLACE = Place("billing", "edge")


def said(version: str, *names: str, lease: float | None = None, timeout: str = "1s") -> Said:
    documents = [{"@type": CLUSTER, "name": name, "connect_timeout": timeout} for name in names]
    return Said(version, [json.dumps(each) for each in documents], lease=lease)


class Tied:
    """What the source is tied to: it notes what it is told."""

    def __init__(self, restored: Mapping[Place, PushedSet] | None = None) -> None:
        self.restored: Mapping[Place, PushedSet] = restored or {}
        self.kept: list[Changed] = []
        self.records: list[tuple[str, str, str]] = []

    def keep(self, changed: Changed) -> None:
        self.kept.append(changed)

    def record(self, changed: Changed, actor: str, reason: str) -> None:
        self.records.append((str(changed.place), actor, reason))

    async def settled(self, group: str) -> Settled:
        return Settled()

    def problems(self, changed: Changed) -> Sequence[Problem]:
        return ()


@asynccontextmanager
async def running(tied: Tied, *expect: str) -> AsyncIterator[tuple[PushSource, RecordingSink]]:
    source, sink = PushSource("push", decode, Limits(), expect), RecordingSink()
    source.tie(tied)
    task = asyncio.create_task(source.run(sink))
    await asyncio.sleep(0)
    try:
        yield source, sink
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_each_resource_is_a_unit_and_only_what_changed_is_handed_over() -> None:
    tied = Tied()
    async with running(tied) as (source, sink):
        assert sink.is_synced
        await source.put(PLACE, said("1", "a", "b/c"), "me")
        assert sink.names() == {"billing/edge/cds/a": ["a"], "billing/edge/cds/b/c": ["b/c"]}
        before = dict(sink.units)
        await source.patch(PLACE, said("2", "a", timeout="2s"), "me")
        assert [key for key, unit in sink.units.items() if unit is not before[key]] == ["billing/edge/cds/a"]
        await source.put(PLACE, said("3", "a", timeout="2s"), "me")
        assert sink.names() == {"billing/edge/cds/a": ["a"]}
        await source.delete(PLACE, "me")
        assert sink.names() == {}
    assert [each[1:] for each in tied.records] == [("me", f"version {n}") for n in "123"] + [("me", "dropped")]
    assert len(tied.kept) == 4


async def test_a_change_of_one_among_thousands_costs_one() -> None:
    decoded: list[str] = []

    def counting(document: Declared) -> Resource:
        made = decode(document)
        decoded.append(made.name)
        return made

    tied, sink = Tied(), RecordingSink()
    source = PushSource("push", counting, Limits(), ())
    source.tie(tied)
    task = asyncio.create_task(source.run(sink))
    await source.put(PLACE, said("1", *(f"c{n}" for n in range(3000))), "me")
    decoded.clear()
    sink.calls.clear()
    await source.patch(PLACE, said("2", "c5", timeout="2s"), "me")
    assert decoded == ["c5"]
    assert sink.calls == [(("billing/edge/cds/c5",), ())]
    assert len(tied.kept[-1].set) == 1
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_the_same_version_again_is_not_even_read() -> None:
    tied = Tied()
    async with running(tied) as (source, sink):
        await source.put(PLACE, said("1", "a"), "me")
        outcome = await source.put(PLACE, Said("1", ["no JSON"]), "me")
        assert (outcome.changed.is_new, outcome.counts) == (False, {CLUSTER: 1})
        assert sink.names() == {"billing/edge/cds/a": ["a"]}
    assert len(tied.records) == 1


async def test_a_fault_leaves_everything_as_it_was() -> None:
    async with running(Tied()) as (source, sink):
        await source.put(PLACE, said("1", "a"), "me")
        with pytest.raises(InvalidError):
            await source.put(PLACE, Said("2", [*said("2", "b").resources, "{}"]), "me")
        assert sink.names() == {"billing/edge/cds/a": ["a"]}
        assert (await source.get(PLACE)).changed.before == "1"


async def test_a_set_goes_when_its_lease_runs_out_and_that_is_told_until_its_owner_is_back() -> None:
    tied = Tied()
    async with running(tied) as (source, sink):
        with capture_logs() as logs:
            await source.put(PLACE, said("1", "a", lease=10.0), "me")
            await asyncio.sleep(9.0)
            await source.patch(PLACE, said("1"), "me")
            await asyncio.sleep(9.9)
            assert sink.names() == {"billing/edge/cds/a": ["a"]}
            await asyncio.sleep(0.2)
        assert sink.names() == {"billing/edge": []}
        (problem,) = sink.units["billing/edge"].problems
        assert (problem.reason, problem.origin.path) == ("LeaseExpired", "billing")
        assert [each["log_level"] for each in logs if each["event"] == "push_lease_expired"] == ["warning"]
        assert tied.records[-1] == ("billing/edge", "tidegate", "its lease ran out")
        await source.put(PLACE, said("1", "a"), "me")
        assert sink.names() == {"billing/edge/cds/a": ["a"]}
        await asyncio.sleep(1000.0)
        assert sink.names() == {"billing/edge/cds/a": ["a"]}


async def test_put_without_a_lease_ends_it_and_patch_keeps_it() -> None:
    async with running(Tied()) as (source, sink):
        await source.put(PLACE, said("1", "a", lease=10.0), "me")
        assert (await source.patch(PLACE, said("2", "b"), "me")).lease == 10.0
        assert (await source.put(PLACE, said("3", "a"), "me")).lease is None
        await asyncio.sleep(1000.0)
        assert sink.names() == {"billing/edge/cds/a": ["a"]}


async def test_restored_sets_are_handed_over_before_it_is_synced_and_their_leases_begin_anew() -> None:
    origin = Origin("push", "billing", 1, 0, CLUSTER, "Cluster", "edge", "a")
    secret = EncodedDocument(
        "edge", CLUSTER, "s", b"", Origin("push", "billing", 2, 0, CLUSTER, "Cluster", "edge", "s")
    )
    known = EncodedDocument("edge", CLUSTER, "a", b"\n\x01a", origin)
    pushed = PushedSet("1", {(CLUSTER, "a"): known, (CLUSTER, "s"): secret}, lease=10.0)
    async with running(Tied({PLACE: pushed})) as (_, sink):
        assert sink.is_synced
        assert sink.names() == {"billing/edge/cds/a": ["a"], "billing/edge/cds/s": []}
        assert sink.units["billing/edge/cds/s"].broken, "what was not stored keeps its last good content"
        await asyncio.sleep(9.9)
        assert len(sink.units) == 2
        await asyncio.sleep(0.2)
        assert sink.names() == {"billing/edge": []}


async def test_it_is_synced_once_the_expected_owners_have_sets() -> None:
    async with running(Tied(), "billing", "eve") as (source, sink):
        await source.put(Place("billing", "g"), said("1", "a"), "me")
        await asyncio.sleep(0)
        assert not sink.is_synced
        await source.put(Place("eve", "h"), said("1", "b"), "me")
        await asyncio.sleep(0)
        assert sink.is_synced


async def test_a_request_that_came_later_is_taken_later_though_it_is_smaller() -> None:
    async with running(Tied()) as (source, sink):
        big = source.put(PLACE, said("1", *(f"c{n}" for n in range(300))), "me")
        small = source.put(PLACE, said("2", "a"), "me")
        await asyncio.gather(big, small)
        assert sink.names() == {"billing/edge/cds/a": ["a"]}

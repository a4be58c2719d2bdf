"""Three replicas and thirty Envoys spread over them: each replica tells the truth about all, also while one dies."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.conformance.client import SLACK, Stream, accept, hold, refuse
from tests.conformance.wire import Received
from tests.support.replicas import ROUTES, Crowd, FakeEnvoy, crowd
from xds_server.demo.polling import until

NUMBER = 3
ENVOYS = 30

pytestmark = pytest.mark.timeout(240)


@asynccontextmanager
async def spread(folder: Path) -> AsyncIterator[tuple[Crowd, list[FakeEnvoy]]]:
    """The replicas, and the Envoys: the first of every three is on the first replica, and so on."""
    async with crowd(folder, NUMBER) as replicas:
        envoys = [FakeEnvoy() for _ in range(ENVOYS)]
        try:
            for index, envoy in enumerate(envoys):
                await envoy.connect(replicas.planes[index % NUMBER].xds)
            yield replicas, envoys
        finally:
            await asyncio.gather(*(envoy.leave() for envoy in envoys))


async def everywhere(replicas: Crowd, among: Sequence[int], *, envoys: int = ENVOYS) -> str:
    """Wait until each of these tells that all Envoys have the version that is served; that version."""
    on = f" on {len(among)} replicas" if len(among) > 1 else ""
    version = await replicas.version(among[0])
    for each in among:
        await replicas.says(each, "True", f"all {envoys} Envoys{on} have accepted version {version[:8]}", within=10)
    return version


async def next_version(replicas: Crowd, before: str, among: Sequence[int]) -> str:
    """Wait until all of these serve another version, the same one."""

    async def probe() -> str | None:
        found = {await replicas.version(each) for each in among}
        return found.pop() if len(found) == 1 and before not in found else None

    return await until(probe, within=5 * SLACK, what=f"a version after {before}")


async def test_nobody_tells_that_all_have_it_before_they_have_also_while_a_replica_dies(tmp_path: Path) -> None:
    async with spread(tmp_path) as (replicas, envoys):
        first = await everywhere(replicas, range(NUMBER))
        proven = {first[:8]}
        # One Envoy of the last replica is slow: all three know.
        slow = envoys[NUMBER - 1]
        slow.answer = hold
        replicas.declare(timeout="7s")
        second = await next_version(replicas, first, range(NUMBER))
        for each in range(NUMBER):
            await replicas.says(each, "False", f"1 of {ENVOYS} Envoys on {NUMBER} replicas have not accepted all of")
        assert not replicas.told(lambda one: one.status == "True" and one.version not in proven)
        assert not replicas.told(lambda one: one.acked[:8] not in {*proven, ""})
        proven.add(second[:8])
        catch_up(slow)
        assert await everywhere(replicas, range(NUMBER)) == second

        # The last replica dies, and a new version comes: nobody knows what its Envoys have.
        await replicas.planes[NUMBER - 1].child.kill()
        died = time.monotonic()
        replicas.declare(timeout="8s")
        third = await next_version(replicas, second, range(NUMBER - 1))
        for each in range(NUMBER - 1):
            await replicas.says(each, "Unknown", f"replica replica-{NUMBER - 1}: it can't be reached")
        for envoy in envoys[NUMBER - 1 :: NUMBER]:
            await envoy.connect(replicas.planes[0].xds)
        for each in range(NUMBER - 1):
            await replicas.says(each, "Unknown", f"all {ENVOYS} Envoys on {NUMBER - 1} replicas have accepted")
        await asyncio.sleep(1.0)
        assert not replicas.told(lambda one: one.status == "True" and one.version not in proven)
        quiet = replicas.told(lambda one: one.at > died + SLACK and one.status == "True")
        assert not quiet, "what is not known is not told as true"
        assert not replicas.told(lambda one: one.acked[:8] == third[:8])

        # It is back, with no Envoy: all is known again.
        proven.add(third[:8])
        await replicas.planes[NUMBER - 1].start()
        assert await everywhere(replicas, range(NUMBER)) == third
        assert not replicas.told(lambda one: one.status == "True" and one.version not in proven)
        assert {one.replica for one in replicas.samples if one.status == "True"} == set(range(NUMBER))


def catch_up(envoy: FakeEnvoy) -> None:
    """Have an Envoy accept what it has held back, and all from now on."""
    stream = envoy.stream
    assert stream is not None
    envoy.answer = accept
    newest: dict[str, Received] = {response.key: response for response in stream.received}
    for response in newest.values():
        stream.ack(response)


async def test_a_refusal_is_told_everywhere_in_the_words_of_the_node(tmp_path: Path) -> None:
    async with spread(tmp_path) as (replicas, envoys):
        first = await everywhere(replicas, range(NUMBER))
        wrong = envoys[1]
        wrong.answer = refuse_routes
        replicas.declare(timeout="9s")
        await next_version(replicas, first, range(NUMBER))
        await replicas.says(1, "False", "Envoy refuses something of version")
        for each in (0, 2):
            told = await replicas.says(each, "False", "(on replica replica-1)")
            assert told["reason"] == "Refused"
            assert wrong.id in told["message"]


def refuse_routes(stream: Stream, response: Received) -> None:
    (refuse if response.key == "rds" else accept)(stream, response)


async def test_a_replica_that_ends_in_order_is_missed_by_nobody(tmp_path: Path) -> None:
    async with spread(tmp_path) as (replicas, envoys):
        await everywhere(replicas, range(NUMBER))
        ending = asyncio.create_task(replicas.planes[1].child.stop())
        for envoy in envoys[1::NUMBER]:
            await envoy.connect(replicas.planes[2].xds)
        await ending
        for each in (0, 2):
            await replicas.says(each, "True", f"all {ENVOYS} Envoys on {NUMBER - 1} replicas", within=10)
        await asyncio.sleep(1.0)
        assert not replicas.told(lambda one: one.reason == "ReplicaUnknown" and one.at > replicas.samples[-1].at - 0.5)
        replicas.declare(timeout="7s")
        await everywhere(replicas, (0, 2))


async def test_a_replica_that_hangs_is_unknown_and_nothing_new_is_told_as_true_before_it_is_noticed(
    tmp_path: Path,
) -> None:
    async with spread(tmp_path) as (replicas, _):
        first = await everywhere(replicas, range(NUMBER))
        hanging = replicas.planes.pop()
        hanging.child.signal(signal.SIGSTOP)
        try:
            replicas.declare(timeout="7s")
            second = await next_version(replicas, first, range(NUMBER - 1))
            for each in range(NUMBER - 1):
                await replicas.says(each, "False", f"of another version are replicas replica-{NUMBER - 1}")
            for each in range(NUMBER - 1):
                await replicas.says(each, "Unknown", f"replica replica-{NUMBER - 1}: it does not answer", within=10)
            assert not replicas.told(lambda one: one.status == "True" and one.version != first[:8])
        finally:
            hanging.child.signal(signal.SIGCONT)
            replicas.planes.append(hanging)
        assert await everywhere(replicas, range(NUMBER)) == second


async def test_quotas_are_shared_by_the_envoys_of_all_replicas(tmp_path: Path) -> None:
    async with spread(tmp_path) as (replicas, envoys):
        await everywhere(replicas, range(NUMBER))
        replicas.declare(maxQps=300)

        async def shares() -> bool:
            found = [(await plane.gateway("shop", "edge"))["routes"][0]["share"] for plane in replicas.planes]
            return [each and round(1 / each) for each in found] == [ENVOYS] * NUMBER

        await until(shares, within=10 * SLACK, what=f"shared by {ENVOYS} at each")
        await everywhere(replicas, range(NUMBER))
        await replicas.planes[0].child.kill()
        for envoy in envoys[0::NUMBER]:
            await envoy.leave()
        await asyncio.sleep(3.0)
        for plane in replicas.planes[1:]:
            share = (await plane.gateway("shop", "edge"))["routes"][0]["share"]
            assert round(1 / share) == ENVOYS, "who can't be heard may still serve"
        assert envoys[1].stream is not None
        assert ROUTES in envoys[1].stream.names_of("rds")

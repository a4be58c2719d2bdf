"""K92: streams that are cancelled leave no task, no watch and no node behind."""

from __future__ import annotations

import asyncio
import gc
import logging
import random

import pytest

from tests.conformance.client import Stream, connect
from tests.conformance.documents import marked
from tests.conformance.wire import BOTH, MAIN, node_of
from tests.feature.inprocess import Inside, inside

AT_ONCE = 25


async def _cycle(server: Inside, number: int) -> None:
    """Open a stream, ask for five types, read a random number of answers, cancel."""
    wanted = random.Random(number).randrange(6)
    async with connect(server.xds) as channel:
        for variant in BOTH:
            async with Stream(channel, variant, node_of(f"n-{number}")) as stream:
                for key in MAIN:
                    stream.ask(key, "a")
                await stream.until(lambda: len(stream.received) >= wanted)


async def _cycles(server: Inside, count: int) -> None:
    """`count` streams, some at a time, while publishes go on."""
    for first in range(0, count, 2 * AT_ONCE):
        server.publish([marked(key, "a", first) for key in MAIN])
        await asyncio.gather(*(_cycle(server, first + number) for number in range(AT_ONCE)))


async def _left(server: Inside) -> dict[str, int]:
    """What is there of each kind once everything has settled."""
    await server.until(lambda: not server.streams(), "no streams")
    await asyncio.sleep(0.2)
    gc.collect()
    return {
        "tasks": len(asyncio.all_tasks()),
        "streams": server.streams(),
        "watches": sum(len(group._listeners) for group in server.groups),
        "ends": len(server.server._services._ends),
        "timers": sum(not timer.cancelled() for timer in asyncio.get_running_loop()._scheduled),  # type: ignore[attr-defined]
    }


@pytest.mark.parametrize("count", [2000, pytest.param(20_000, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
async def test_k92_cancelled_streams_leave_nothing_behind(count: int, caplog: pytest.LogCaptureFixture) -> None:
    async with inside() as server:
        await _cycles(server, 4 * AT_ONCE)
        before = await _left(server)
        await _cycles(server, count)
        after = await _left(server)
        assert after["timers"] <= before["timers"] + 2
        assert {**after, "timers": 0} == {**before, "timers": 0}
        assert not [each for each in caplog.records if each.levelno >= logging.ERROR], caplog.text
        assert before["streams"] == before["watches"] == before["ends"] == 0

"""When a watch has been silent for too long, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from k8s_source.informer.watchdog import MARGIN, OVERDUE, Watchdog

pytestmark = pytest.mark.looptime


async def silent_after(words: Sequence[float], lasts: float, quiet: float) -> tuple[list[float], float]:
    """When it was told, and when it was given up, from the opening, for a watch that hears something at these times."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    told: list[float] = []

    async def watch() -> None:
        async with asyncio.timeout(None) as limit:
            dog = Watchdog(limit, lasts, quiet, lambda: told.append(loop.time() - began))
            for at in words:
                await asyncio.sleep(at - (loop.time() - began))
                dog.hear()
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await watch()
    return told, loop.time() - began


@pytest.mark.parametrize(
    ("words", "lasts", "quiet", "due"),
    [
        ([], 30, 150, 30),  # the server's end does not come
        ([29], 30, 150, 30),  # also when something came just before
        ([], 300, 150, 150),  # a bookmark should have come
        ([60, 120, 180], 300, 150, 300),
        ([60, 120], 300, 100, 220),
        ([10, 20, 34], 30, 150, 34),  # a server that goes on after its end is alive until it is silent
        ([], 300, float("inf"), 300),
    ],
)
async def test_told_and_given_up(words: Sequence[float], lasts: float, quiet: float, due: float) -> None:
    told, ended = await silent_after(words, lasts, quiet)
    assert told[-1] == pytest.approx(due + OVERDUE)
    assert ended == pytest.approx(due + MARGIN)


async def test_a_watch_that_speaks_again_is_told_as_silent_again() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    told: list[float] = []
    async with asyncio.timeout(None) as limit:
        dog = Watchdog(limit, 30, 10, lambda: told.append(loop.time() - began))
        await asyncio.sleep(12)
        assert dog.hear()
        assert not dog.hear()
        await asyncio.sleep(11.5)
        dog.stop()
        await asyncio.sleep(100)
    assert told == [pytest.approx(11), pytest.approx(23)]

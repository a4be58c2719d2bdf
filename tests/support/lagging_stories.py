"""What a route does that follows a lag, whatever the broker: stories that are played on a `Shop`, and their checks."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable

from tests.support.fleet import SLACK
from tests.support.lagging_shop import INTERVAL, LITE, PRIMARY, RESET, TTL, Shop
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until

LIMIT = 2 * INTERVAL * SLACK
"""Seconds from the moment that a switch is due until every Envoy has made it: two sampling intervals."""

Deed = Callable[[], Awaitable[None]]
"""Something that is done to a broker."""


async def degrades_and_comes_back(shop: Shop) -> None:
    """Each switch within two sampling intervals, `minDwell` counted in, and none before it is over."""
    passed = time.time()
    await shop.group.lag(500)
    assert await shop.leads_to(LITE) - passed <= LIMIT
    held = await shop.since() + shop.dwell
    passed = time.time()
    await shop.group.lag(20)
    came_back = await shop.leads_to(PRIMARY)
    assert held - 0.1 <= came_back <= max(held, passed) + LIMIT
    group = await shop.plane.programmed(nodes=2)
    assert group["nodes"]["nacked"] == 0
    assert await shop.switches() == 2


async def does_not_flap(shop: Shop, *, oscillating: int, steady: float) -> None:
    """K89, with `enterSamples: 3`: seconds of a lag around the threshold, a spike, too much for long, and little again."""
    for second in range(oscillating):
        await shop.group.lag(95 if second % 2 else 105)
        await asyncio.sleep(1)
    assert await shop.switches() <= 1
    await shop.group.lag(20)
    await shop.leads_to(PRIMARY)
    before = await shop.switches()
    await shop.group.lag(10_000)
    await shop.observes(value=10_000)
    await shop.group.lag(20)
    await shop.observes(value=20)
    await asyncio.sleep(3 * INTERVAL)
    assert await shop.switches() == before
    await shop.group.lag(150)
    await shop.leads_to(LITE)
    await asyncio.sleep(steady)
    assert await shop.switches() == before + 1
    await shop.group.lag(20)
    await shop.leads_to(PRIMARY)
    assert await shop.switches() == before + 2


async def holds_through_an_outage(shop: Shop, lag: int, stop: Deed, start: Deed, *, seconds: float) -> None:
    """K82: with `lag` the broker goes away for `seconds` at least, and comes back; nothing is concluded from that.

    The lag is known again by itself, and is followed as before.
    """
    stays, other = (LITE, PRIMARY) if lag > 100 else (PRIMARY, LITE)
    await shop.group.lag(lag)
    await shop.observes(value=lag)
    await shop.leads_to(stays)
    before, answers = await shop.switches(), shop.answers(other)
    began = time.monotonic()
    await stop()
    await _is_unknown(shop, lag)
    await _is_left_alone(shop)
    await asyncio.sleep(max(0.0, began + seconds - time.monotonic()))
    assert (await shop.condition("Degraded"))["status"] == "Unknown"
    await start()
    await shop.observes(within=RESET + 5, value=lag, breaker="closed")
    status = "True" if lag > 100 else "False"
    await until(lambda: _is_degraded(shop, status), within=5 * SLACK, what=f"the condition is {status} again")
    assert (await shop.switches(), shop.answers(other)) == (before, answers)
    await shop.group.lag(20 if lag > 100 else 500)
    await shop.leads_to(other)


async def _is_unknown(shop: Shop, lag: int) -> None:
    """The value goes when it is too old; the condition says so, with the age, and the last value stays visible."""
    observed = await shop.observes(within=TTL + 5, value=None)
    assert observed["unknown"]
    assert observed["age_s"] >= TTL
    condition = await until(lambda: _held(shop), within=5 * SLACK, what="the condition is unknown")
    assert condition["reason"] == "LagUnknown"
    assert re.search(rf"last known at \S+Z: {lag}\)", condition["message"])
    route = await shop.route()
    assert (route["lag"], route["last_lag"]) == (None, lag)
    assert route["age_s"] > observed["age_s"]


async def _is_degraded(shop: Shop, status: str) -> bool:
    return bool((await shop.condition("Degraded"))["status"] == status)


async def _held(shop: Shop) -> Json | None:
    condition = await shop.condition("Degraded")
    return condition if condition["status"] == "Unknown" else None


async def _is_left_alone(shop: Shop) -> None:
    """The breaker opens, and from then on the broker is asked once per reset at most."""
    await shop.observes(within=10, breaker="open")
    before, began = await shop.rounds(), time.monotonic()
    await asyncio.sleep(2.5 * RESET)
    assert await shop.rounds() - before <= 1 + (time.monotonic() - began) / RESET

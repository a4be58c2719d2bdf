"""docker-compose.yaml: what it shows, by requests through both Envoys, of which none fails."""

from __future__ import annotations

import re

from tests.compose.stack import Stack, leads_to
from tests.support.fleet import SLACK
from xds_server.demo.polling import until

PRIMARY, LITE = "checkout", "checkout-lite"

THRESHOLD = 200

FILLS = THRESHOLD / 50
"""Seconds in which a consumer that has stopped gets over its threshold."""

ROUNDS = 2 * 1.0
"""Seconds: two sampling intervals."""


async def test_the_route_follows_the_consumer_through_both_envoys_and_no_request_fails(stack: Stack) -> None:
    async with stack.load() as load:
        await leads_to(load, PRIMARY, within=30)
        before = await stack.programmed()
        await stack.run("stop", "consumer")
        await leads_to(load, LITE, within=(FILLS + ROUNDS) * SLACK)
        assert await stack.programmed() != before
        await stack.run("start", "consumer")
        # It has to join its group and to catch up first.
        await leads_to(load, PRIMARY, within=20 * SLACK)
        assert await stack.programmed() == before
    assert load.failed == 0, load.failures()
    (gateway,) = (await stack.ask("/v1/gateways/shop/checkout"))["gateways"]
    assert gateway["status"]["phase"] == "Ready"


async def test_a_kafka_that_hangs_changes_nothing(stack: Stack) -> None:
    async with stack.load() as load:
        await leads_to(load, PRIMARY, within=30)
        before = await stack.programmed()
        await stack.run("pause", "kafka")
        try:
            await until(lambda: _lag(stack, known=False), within=10 * SLACK, what="the lag is unknown")
        finally:
            await stack.run("unpause", "kafka")
        await until(lambda: _lag(stack, known=True), within=10 * SLACK, what="the lag is known again")
        assert await stack.programmed() == before
    assert load.failed == 0, load.failures()
    assert all(set(tally.answered_by) == {f"{PRIMARY}\n"} for tally in load.tallies.values())


async def test_a_frozen_route_stays_until_the_switch_is_taken_back(stack: Stack) -> None:
    async with stack.load() as load:
        await leads_to(load, PRIMARY, within=30)
        await stack.tidegate("switch", "freeze", "all", "--reason", "a test", "--for", "10m")
        await stack.run("stop", "consumer")
        await until(lambda: _lags(stack), within=(FILLS + ROUNDS) * SLACK, what="the group lags")
        answers = load.sent
        await until(lambda: _after(load.sent, answers + 100), within=10 * SLACK, what="requests go on")
        assert all(set(tally.answered_by) == {f"{PRIMARY}\n"} for tally in load.tallies.values())
        await stack.tidegate("switch", "freeze", "all", "--release", "--reason", "seen")
        await leads_to(load, LITE, within=ROUNDS * SLACK)
        await stack.run("start", "consumer")
        await leads_to(load, PRIMARY, within=20 * SLACK)
    assert load.failed == 0, load.failures()


async def test_envoys_go_on_without_the_control_plane_and_are_sent_nothing_when_it_is_back(stack: Stack) -> None:
    async with stack.load() as load:
        before = await stack.programmed()
        await stack.run("stop", "control-plane")
        sent = load.sent
        await until(lambda: _after(load.sent, sent + 100), within=10 * SLACK, what="requests go on")
        await stack.run("up", "--detach", "--wait", "--no-recreate", "control-plane")
        assert await stack.programmed() == before
    assert load.failed == 0, load.failures()


async def test_the_control_plane_has_no_rights(stack: Stack) -> None:
    status = await stack.run("exec", "control-plane", "cat", "/proc/1/status")
    assert re.search(r"^Uid:\s+65532\s", status, re.MULTILINE)
    for capabilities in ("CapEff", "CapBnd"):
        assert re.search(rf"^{capabilities}:\s+0+$", status, re.MULTILINE)
    attempt = "touch /tmp/new 2>&1 || true"  # a folder in which everybody may write, were it not for the root
    assert "Read-only file system" in await stack.run("exec", "control-plane", "sh", "-c", attempt)


async def _lag(stack: Stack, *, known: bool) -> bool:
    observed = await stack.observed()
    return (observed["value"] is not None) is known


async def _lags(stack: Stack) -> bool:
    """Whether the group lags by more than the threshold."""
    return ((await stack.observed())["value"] or 0) > THRESHOLD


async def _after(sent: int, goal: int) -> bool:
    return sent >= goal

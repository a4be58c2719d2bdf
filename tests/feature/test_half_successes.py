"""What is half done: published and not yet everywhere, refused by some, in force and not on disk; and a restart in each.

What is built and not published is in test_switches (read-only) and envoy/test_preflight; a sampler that fails while a route is
degraded is in test_gateways.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.conformance.client import SLACK, Answer, Stream, accept, hold, refuse
from tests.conformance.server import Clients
from tests.conformance.wire import Variant
from tests.feature.restarts import on_disk
from tests.feature.shop import Shop, gateway, shop
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until

PRIMARY, LITE = "shop/orders/80", "shop/orders-lite/80"


async def node(clients: Clients, name: str, answer: Answer = accept) -> Stream:
    """A node that asks for all that there is."""
    stream = await clients.stream(Variant.DELTA, id=name, answer=answer)
    for key, names in (("cds", "*"), ("eds", PRIMARY), ("lds", "*"), ("rds", "http-8080")):
        stream.ask(key, names, *([LITE] if key == "eds" else []))
    return stream


def answering(key: str, answer: Answer) -> Answer:
    """Accept all but one type."""
    return lambda stream, response: (answer if response.key == key else accept)(stream, response)


async def accepted(place: Shop) -> str:
    """Wait until all have what is served; the version that the gateway tells."""
    await place.said("Programmed", "True")
    status: Json = (await place.gateway())["status"]
    assert status["lastAckedVersion"] == await version(place)
    return str(status["lastAckedVersion"])


async def version(place: Shop) -> str:
    return str((await place.server.get("/v1/groups/default"))["version"])


async def reason(place: Shop, wanted: str) -> Json:
    """Wait until `Programmed` is False for that reason."""

    async def probe() -> Json | None:
        found = await place.condition("Programmed")
        return found if (found.get("status"), found.get("reason")) == ("False", wanted) else None

    return await until(probe, within=5 * SLACK, what=f"not programmed: {wanted}", interval=0.03)


async def has_left(place: Shop, before: str) -> bool:
    """Whether the gateway counts that version as left."""
    return bool((await place.gateway())["status"]["lastAckedVersion"] != before)


async def test_published_and_acked_by_some_is_not_programmed_and_the_old_version_is_not_left_until_all_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place, place.server.clients() as clients:
        await node(clients, "quick")
        slow = await node(clients, "slow")
        before = await accepted(place)
        slow.answer = answering("rds", hold)
        place.lag(150)
        await place.decided("degraded")
        pending = await reason(place, "Pending")
        assert pending["message"].startswith("1 of 2 Envoys")
        assert not await has_left(place, before)
        assert (await place.condition("Degraded"))["status"] == "True", "the decision is told all the same"

        slow.ack(slow.of("rds")[-1])
        assert await accepted(place) != before


async def test_a_node_that_leaves_without_an_ack_keeps_nobody_from_being_programmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place, place.server.clients() as clients:
        await node(clients, "quick")
        async with place.server.clients() as others:
            slow = await node(others, "slow", answering("rds", hold))
            await reason(place, "Pending")
            await slow.until(lambda: slow.of("rds"), what="the routes")
        await accepted(place)


async def test_a_node_that_nacks_while_others_ack_is_told_keeps_the_old_version_and_holds_nobody_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place, place.server.clients() as clients:
        good = await node(clients, "good")
        bad = await node(clients, "bad")
        before = await accepted(place)
        bad.answer = answering("rds", refuse)
        place.lag(150)
        await place.decided("degraded")
        refused = await reason(place, "Refused")
        assert "bad" in refused["message"]
        assert not await has_left(place, before)
        assert (await place.gateway())["status"]["phase"] == "Failed"
        assert (await place.gateway())["status"]["lastError"]

        place.serve("orders-lite", "10.0.0.9")
        await good.until(lambda: b"10.0.0.9" in good.holds["eds"][LITE], what="endpoints flow on")
        bad.answer = accept
        place.lag(0)
        await place.decided("primary")
        assert await accepted(place) != before


async def test_requireEnvoyAck_false_is_programmed_though_nobody_has_acked(  # noqa: N802 - as the field is called
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place, place.server.clients() as clients:
        place.declare(gateway({"requireEnvoyAck": False}))
        await node(clients, "slow", answering("rds", hold))
        assert (await place.said("Programmed", "True"))["reason"] == "Published"


@pytest.mark.parametrize("answer", [hold, refuse], ids=["some have not acked", "one nacks"])
async def test_a_restart_while_some_have_it_serves_the_same_and_asks_all_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        async with place.server.clients() as clients:
            await node(clients, "good")
            await node(clients, "odd", answering("rds", answer))
            place.lag(150)
            await place.decided("degraded")
            await reason(place, "Refused" if answer is refuse else "Pending")
            served = await on_disk(place.server)
            await place.stored("degraded")
        place.lag("no broker answers")
        await place.server.restart()
        await place.decided("degraded", unknown="no broker answers")
        again = await place.server.get("/v1/groups/default")
        assert (again["version"], again["seq"]) == (served["version"], served["seq"])
        assert not again["programmed"]
        async with place.server.clients() as clients:
            await node(clients, "good")
            odd = await node(clients, "odd", answering("rds", answer))
            await reason(place, "Refused" if answer is refuse else "Pending")
            await odd.until(lambda: odd.of("rds"))
            odd.answer = accept
            if answer is hold:
                odd.ack(odd.of("rds")[-1])
            place.lag(0)
            await place.decided("primary")
            await accepted(place)


async def test_acked_but_not_written_is_in_force_is_told_and_is_written_once_the_disk_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place, place.server.clients() as clients:
        await node(clients, "n1")
        await accepted(place)
        await place.stored("primary")
        file = place.state / "gateways" / "decisions.json"
        full = file.with_suffix(".draft")
        full.mkdir()
        place.lag(150)
        await place.decided("degraded")
        await accepted(place)

        async def failing() -> bool:
            return await place.server.metric("tidegate_state_up") == 0

        await until(failing, within=5 * SLACK, what="the state can't be written")
        assert "state_not_written" in place.server.plane.child.tail(200)
        assert '"choice":"degraded"' not in file.read_text()
        full.rmdir()
        await place.stored("degraded")


async def test_a_restart_after_acked_but_not_written_begins_with_what_was_written_and_the_next_sample_corrects_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        await place.stored("primary")
        full = (place.state / "gateways" / "decisions.json").with_suffix(".draft")
        full.mkdir()
        place.lag(150)
        await place.decided("degraded")
        await asyncio.sleep(0.5)
        place.lag("no broker answers")
        await place.server.plane.child.kill()
        full.rmdir()
        await place.server.plane.start()
        await place.decided("primary", unknown="no broker answers", verdict="normal")
        place.lag(150)
        await place.decided("degraded", lag=150)
        assert [each["after"]["decision"] for each in await place.degradations()][-1] == "degraded"

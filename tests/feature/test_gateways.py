"""Gateways that follow lag, from a plug-in observer to the API, events, audit log, metrics and what is served."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.conformance.client import SLACK
from tests.conformance.wire import Variant
from tests.feature.commands import tidegate
from tests.feature.shop import Shop, gateway, shop
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import replace_file

PRIMARY, LITE = "shop/orders/80", "shop/orders-lite/80"


async def events(server: Shop) -> list[Json]:
    """The events about decisions that are kept."""
    text = (await server.server.request("/v1/events?follow=false"))[1]
    blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.strip().split("\n\n")]
    return [{"id": each["id"], **json.loads(each["data"])} for each in blocks if each.get("event") == "degradation"]


async def test_over_degraded_unknown_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        await place.decided("primary", lag=0, backend="shop/orders:80")
        assert (await place.said("Degraded", "False"))["reason"] == "AsDeclared"
        assert await place.clusters() == {PRIMARY}

        place.lag(150)
        route = await place.decided("degraded", lag=150, threshold=100, backend="shop/orders-lite:80")
        assert route["reason"] == "over-threshold"
        degraded = await place.said("Degraded", "True")
        assert degraded["reason"] == "OverThreshold"
        assert await place.clusters() == {PRIMARY, LITE}
        assert (await place.gateway())["status"]["phase"] == "Degraded"

        place.lag("no broker answers")
        unknown = await place.said("Degraded", "Unknown")
        assert "no broker answers" in unknown["message"]
        assert "it stays degraded" in unknown["message"]
        assert unknown["lastTransitionTime"] > degraded["lastTransitionTime"]
        held = await place.decided("degraded", lag=None, unknown="no broker answers", last_lag=150)
        assert held["since"] == route["since"]
        await asyncio.sleep(1.5)
        assert (await place.decided("degraded", lag=None))["age_s"] > held["age_s"]
        assert (await place.said("Degraded", "Unknown"))["lastTransitionTime"] == unknown["lastTransitionTime"]

        place.lag(90)
        await place.decided("degraded", lag=90, unknown=None)
        place.lag(80)
        await place.decided("primary", lag=80, reason="healthy")
        assert await place.clusters() == {PRIMARY}
        await _told(place)


async def _told(place: Shop) -> None:
    """The degradation and the return are told, each once, with their versions."""
    entries, told = await place.degradations(), await events(place)
    assert [(each["target"], each["actor"]) for each in entries] == [("shop/edge/orders", "tidegate")] * 2
    assert [each["after"]["decision"] for each in entries] == ["degraded", "primary"]
    assert entries[0]["before"] == {"decision": "primary", "reason": "healthy", "backend": "shop/orders:80"}
    assert [each["reason"] for each in entries] == ["over-threshold", "healthy"]
    assert [(int(each["id"]), each["version"]) for each in told] == [(each["id"], each["version"]) for each in entries]
    assert [(each["lag"], each["threshold"]) for each in told] == [(150, 100), (80, 100)]
    versions = (await place.server.get("/v1/groups/default/versions"))["versions"]
    assert {each["version"] for each in entries} <= {each["version"] for each in versions}
    metric = place.server.metric
    assert await metric("tidegate_gateway_transitions_total", gateway="edge", decision="degraded") == 1
    assert await metric("tidegate_gateway_transitions_total", gateway="edge", decision="primary") == 1
    assert await metric("tidegate_gateway_routes", namespace="shop", gateway="edge", decision="primary") == 2


async def test_a_restart_in_degraded_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        place.lag(150)
        route = await place.decided("degraded")
        version = (await place.server.get("/v1/groups/default"))["version"]
        await place.stored("degraded")
        place.lag("no broker answers")
        await place.server.restart()
        again = await place.decided("degraded", unknown="no broker answers")
        assert again["since"] == route["since"]
        await place.said("Degraded", "Unknown")
        assert (await place.server.get("/v1/groups/default"))["version"] == version
        assert len(await place.degradations()) == 1, "a restart is no transition"

        place.lag(0)
        await place.decided("primary")
        assert [each["after"]["decision"] for each in await place.degradations()] == ["degraded", "primary"]


@pytest.mark.parametrize("file", ["gateways.yaml", "orders-lite.yaml"])
async def test_a_restart_with_a_broken_file_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        place.lag(150)
        await place.decided("degraded")
        group = await place.server.get("/v1/groups/default")
        await place.stored("degraded")
        place.lag("no broker answers")
        await place.server.plane.stop()
        broken = place.server.plane.files / file
        text = broken.read_text()
        broken.write_text("a: [")
        await place.server.plane.start()

        async def told() -> bool:
            (source,) = (await place.server.get("/v1/sources"))["sources"]
            return any(each["reason"] == "InvalidSyntax" for each in source["errors"])

        await until(told, within=5 * SLACK, what="the broken file is told")
        await asyncio.sleep(1.5)  # at least one look at what may be forgotten
        assert (await place.server.get("/v1/groups/default"))["version"] == group["version"]
        replace_file(broken, text)
        await place.decided("degraded", unknown="no broker answers")
        assert (await place.server.get("/v1/groups/default"))["version"] == group["version"]
        assert await place.clusters() == {PRIMARY, LITE}


async def test_a_damaged_file_of_verdicts_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        place.lag(150)
        await place.decided("degraded")
        await place.server.plane.stop()
        file = place.state / "gateways" / "decisions.json"
        file.write_bytes(file.read_bytes()[:-20])

        place.lag("no broker answers")
        await place.server.plane.start()
        await place.decided("primary", verdict="normal")
        entries = (await place.server.get("/v1/audit"))["entries"]
        (damage,) = [each for each in entries if each["action"] == "state_damaged"]
        assert damage["target"] == str(file)
        assert damage["after"] in {str(each) for each in file.parent.iterdir()}
        assert await place.server.metric("tidegate_state_files_damaged") == 1
        place.lag(150)
        await place.decided("degraded")


async def test_without_kafka_lag_is_unknown_and_nothing_is_degraded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch, observed=False) as place:
        found = await place.said("Degraded", "Unknown")
        assert found["reason"] == "LagUnknown"
        assert "observers.kafka is not configured" in found["message"]
        assert (await place.route())["lag"] is None
        assert (await place.gateway())["status"]["kafkaLag"] == {"orders": None}
        (observer,) = (await place.server.get("/v1/observers"))["observers"]
        assert (observer["value"], observer["sampled"], observer["routes"]) == (None, None, 1)
        assert await place.server.metric("tidegate_gateway_routes_unknown", gateway="edge") == 1


async def test_a_cluster_that_is_not_configured_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = {"kafka": {"clusters": {"default": {"bootstrap": "127.0.0.1:1"}}, "interval": "200ms"}}
    async with shop(tmp_path, monkeypatch, observers=kafka) as place:
        place.declare(gateway(kafkaCluster="elsewhere"))
        await place.said("Degraded", "Unknown", "observers.kafka.clusters has no elsewhere")
        assert (await place.route())["decision"] == "primary"


async def test_no_healthy_backend_is_told_and_the_last_good_is_kept_over_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        place.serve("orders")
        await place.decided("rejected", reason="no-healthy-backend", backend=None)
        assert (await place.said("Ready", "False"))["reason"] == "NotProgrammed", "no node is there"
        assert (await place.gateway())["status"]["phase"] == "Failed"
        place.serve("orders", "10.0.0.1")
        await place.decided("primary")
        place.declare(gateway({"failOpen": True}))
        place.serve("orders")
        await place.decided("fail_open", backend="shop/orders:80")
        await place.server.plane.stop()
        await place.server.plane.start()
        await place.decided("fail_open", backend="shop/orders:80")
        decisions = [
            (each["target"].rpartition("/")[2], each["after"]["decision"]) for each in await place.degradations()
        ]
        orders = [decision for route, decision in decisions if route == "orders"]
        assert orders == ["rejected", "primary", "fail_open"]


async def test_programmed_and_ready_follow_the_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shop(tmp_path, monkeypatch) as place, place.server.clients() as clients:
        assert (await place.said("Programmed", "False"))["reason"] == "NoNodes"
        assert (await place.gateway())["status"]["phase"] == "Pending"
        stream = await clients.stream(Variant.DELTA, id="n1")
        for key in ("cds", "eds", "lds", "rds"):
            stream.ask(key, *(("*",) if key in ("cds", "lds") else (PRIMARY, LITE) if key == "eds" else ("http-8080",)))
        programmed = await place.said("Programmed", "True")
        assert programmed["reason"] == "Programmed"
        await place.said("Ready", "True")
        status = (await place.gateway())["status"]
        assert status["phase"] == "Ready"
        assert status["lastAckedVersion"] == (await place.server.get("/v1/groups/default"))["version"]
        place.declare(gateway({"requireEnvoyAck": False}))
    async with shop(tmp_path / "lenient", monkeypatch) as place:
        place.declare(gateway({"requireEnvoyAck": False}))
        assert (await place.said("Programmed", "True"))["reason"] == "Published"


async def test_explain_and_the_command_tell_of_lag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        place.lag(150)
        await place.decided("degraded", lag=150)
        answer = await place.server.get("/v1/explain?group=default&type=rds&name=http-8080")
        assert {each["kind"] for each in answer["objects"]} >= {"DynamicGateway"}
        (observation,) = answer["observations"]
        assert (observation["observer"], observation["key"], observation["value"]) == ("kafka", "default/orders", 150)
        output = await tidegate("gateways", "--admin", place.server.plane.admin)
        assert "shop/edge/orders: degraded to shop/orders-lite:80" in output
        assert "lag 150 of 100" in output
        told = await tidegate("events", "--admin", place.server.plane.admin)
        assert "shop/edge/orders: degraded to shop/orders-lite:80 (over-threshold, lag 150 of 100)" in told


async def test_what_is_wrong_with_a_gateway_is_a_condition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        place.declare(gateway(degradeService="nowhere"))
        found = await place.said("Resolved", "False")
        assert found["reason"] == "ServiceNotFound"
        assert (await place.gateway())["status"]["lastError"]
        place.declare(gateway(kafkaLagThreshold=-1))
        invalid = await place.said("Accepted", "False")
        assert "kafkaLagThreshold" in invalid["message"]
        assert (await place.route("plain"))["decision"] == "primary", "the rest goes on"


async def test_a_gateway_that_never_was_valid_is_there_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(tmp_path, monkeypatch) as place:
        wrong = gateway(kafkaLagTreshold=5)
        wrong["metadata"]["name"] = "wrong"
        place.declare(gateway(), wrong)

        async def told() -> Json | None:
            return await place.server.plane.gateway("shop", "wrong") or None

        found = await until(told, within=5 * SLACK, what="the gateway")
        assert found["status"]["phase"] == "Failed"
        (accepted,) = [each for each in found["status"]["conditions"] if each["type"] == "Accepted"]
        assert (accepted["status"], accepted["reason"]) == ("False", "UnknownField")
        assert "kafkaLagTreshold" in accepted["message"]
        assert found["routes"] == []
        assert (await place.route())["decision"] == "primary"

"""Traces: one change of a file can be followed through assembly and publish to each node's answer, over OTLP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.conformance.client import SLACK, refuse
from tests.conformance.documents import World, marked
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import BOTH, Variant
from xds_server.demo.polling import until
from xds_server.wire.types import url_of

Span = dict[str, Any]
"""A span as OTLP has it in JSON: `traceId`, `spanId`, `parentSpanId`, `name`, times in nanoseconds, `attributes`, `status`."""


class Collector:
    """What a collector of traces has received over OTLP/HTTP in JSON."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.services: set[str] = set()
        self.raw = b""

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.raw += body
        for resource in json.loads(body)["resourceSpans"]:
            self.services.add(str(_values(resource["resource"])["service.name"]))
            self.spans += [span for scope in resource["scopeSpans"] for span in scope["spans"]]
        return web.json_response({})

    def named(self, name: str, trace: str) -> list[Span]:
        return [span for span in self.spans if span["name"] == name and span["traceId"].lower() == trace]


@asynccontextmanager
async def collecting() -> AsyncIterator[tuple[Collector, str]]:
    """A collector, and its address."""
    collector, app = Collector(), web.Application(client_max_size=1 << 24)
    app.router.add_post("/v1/traces", collector.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield collector, "http://{}:{}".format(*runner.addresses[0][:2])
    finally:
        await runner.cleanup()


@asynccontextmanager
async def traced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Restartable, Collector]]:
    async with collecting() as (collector, address):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        async with restartable(folder) as server:
            yield server, collector


def _values(span: Span) -> dict[str, str]:
    return {each["key"]: str(next(iter(each["value"].values()))) for each in span["attributes"]}


def _times(span: Span) -> tuple[int, int]:
    return int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])


async def _newest_trace(server: Restartable) -> str:
    versions = (await server.get("/v1/groups/default/versions"))["versions"]
    return str(versions[0]["trace"])


@pytest.mark.parametrize("variant", BOTH)
async def test_a_change_is_followed_from_the_file_to_the_answer_of_each_node(
    variant: Variant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with traced(tmp_path, monkeypatch) as (server, collector), server.clients() as clients:
        world = World(server.files, "default")
        world.write("a", marked("cds", "a", 1))
        await server.served(world)
        streams = [await clients.stream(variant, world, id=name) for name in ("willing", "unwilling")]
        for stream in streams:
            stream.ask("cds")
            await stream.holding("cds", {"a": 1})
        streams[1].answer = refuse
        before = await server.group(world)
        world.write("a", marked("cds", "a", 2))
        version = await server.served(world, after=before["seq"])
        trace = await _newest_trace(server)

        async def both() -> list[Span] | None:
            found = collector.named("push", trace)
            return found if len(found) == len(streams) and collector.named("change", trace) else None

        pushes = await until(both, within=5 * SLACK, what="both answers are traced", interval=0.05)
        (change,) = collector.named("change", trace)
        (assemble,) = collector.named("assemble", trace)
        (publish,) = collector.named("publish", trace)
        assert {each["parentSpanId"] for each in (assemble, publish, *pushes)} == {change["spanId"]}
        assert _values(publish)["tidegate.version"] == version["version"]
        assert _values(publish)["tidegate.change"] == "group=default/a.yaml"
        began, (made, ended), (handed, served) = _times(change)[0], _times(assemble), _times(publish)
        assert began <= made <= ended <= handed <= served
        answers = {_values(each)["tidegate.node"]: each.get("status", {}) for each in pushes}
        assert answers["willing"].get("code", 0) == 0
        assert (answers["unwilling"]["code"], answers["unwilling"]["message"]) == (2, "refused by the test")
        assert {_values(each)["tidegate.type"] for each in pushes} == {url_of("cds")}
        assert collector.services == {"tidegate"}


async def test_no_content_and_no_secret_is_in_a_trace_not_even_when_a_refusal_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nplanted-marker-1\n-----END PRIVATE KEY-----\n"
    secret = {"@type": url_of("sds"), "name": "cert", "tls_certificate": {"private_key": {"inline_string": key}}}
    async with traced(tmp_path, monkeypatch) as (server, collector), server.clients() as clients:
        world = World(server.files, "default")
        world.write("a", marked("cds", "a", 1), secret)
        await server.served(world)
        stream = await clients.stream(Variant.DELTA, world)
        stream.answer = lambda stream, response: stream.nack(response, f"refused: {response.key} {key}")
        stream.ask("cds")
        stream.ask("sds", "cert")

        async def traced_both() -> bool:
            return len([span for span in collector.spans if span["name"] == "push" and span["status"].get("code")]) == 2

        await until(traced_both, within=5 * SLACK, what="both refusals are traced")
        assert b"refused" in collector.raw
        assert b"planted-marker" not in collector.raw
        assert b"mark-1;" not in collector.raw
        # Nor is it anywhere else where the words are shown.
        shown = [
            (await server.request(f"/v1/{path}"))[1] for path in ("nodes", "groups", "events?follow=false", "audit")
        ]
        assert sum("refused: " in text for text in shown) >= 2
        assert "planted-marker" not in "".join(shown) + server.plane.child.log.read_text()


async def test_a_collector_that_is_away_holds_up_nothing_and_the_log_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    async with restartable(tmp_path) as server, server.clients() as clients:
        world = World(server.files, "default")
        world.write("a", marked("cds", "a", 1))
        stream = await clients.stream(Variant.DELTA, world)
        stream.ask("cds")
        await stream.holding("cds", {"a": 1})
        assert len(await _newest_trace(server)) == 32

        async def told() -> bool:
            return "Failed to export span" in server.plane.child.tail(50)

        await until(told, within=10 * SLACK, what="the log says what could not be sent")
        world.write("a", marked("cds", "a", 2))
        await stream.holding("cds", {"a": 2})


async def test_without_a_collector_nothing_is_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    async with restartable(tmp_path) as server:
        world = World(server.files, "default")
        world.write("a", marked("cds", "a", 1))
        await server.served(world)
        versions = (await server.get("/v1/groups/default/versions"))["versions"]
        assert [each["trace"] for each in versions] == [None] * len(versions)

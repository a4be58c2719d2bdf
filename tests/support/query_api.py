"""A query API of the tests' own: for answers, and ways not to answer, that a real Prometheus can't be made to give."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from observers.base import Sampling
from observers.prometheus.observer import PrometheusValues
from observers.prometheus.options import Options, Security
from tests.support.lag_watch import FAST, Following, Meter, following
from xds_server.ir.facts import ValueQuery

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """What is answered to a query, after `delay` seconds."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


def success(kind: str, result: object, **more: object) -> Said:
    """An answer with a result of that type."""
    return Said(json.dumps({"status": "success", "data": {"resultType": kind, "result": result}, **more}).encode())


def failure(kind: str, error: str, status: int = 200) -> Said:
    """An answer that says what went wrong."""
    return Said(json.dumps({"status": "error", "errorType": kind, "error": error}).encode(), status)


def scalar(value: str, *, age: float = 0.0, **more: object) -> Said:
    """One number."""
    return success("scalar", [time.time() - age, value], **more)


def vector(*values: str, age: float = 0.0) -> Said:
    """A series for each value."""
    at = time.time() - age
    return success(
        "vector",
        [
            {"metric": {"__name__": "depth", "queue": f"q{number}"}, "value": [at, value]}
            for number, value in enumerate(values)
        ],
    )


class QueryApi:
    """Answers every query with `said`, or by its text with what is in `by_query`; keeps what it was asked."""

    def __init__(self) -> None:
        self.said: Said | None = None
        self.by_query: dict[str, Said] = {}
        self.asked: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.forms: list[Mapping[str, Any]] = []
        self.methods: list[str] = []
        self.allowed = {"POST"}
        self.most = 0
        self._now = 0
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        """Serve one call."""
        form = dict(await request.post() or request.query)
        query = str(form.get("query"))
        self.asked.append(query)
        self.headers.append(request.headers)
        self.forms.append(form)
        self.methods.append(request.method)
        if request.method not in self.allowed:
            return web.Response(status=405)
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            said = self.by_query.get(query, self.said) or scalar("1")
            await asyncio.sleep(said.delay)
            return web.Response(body=said.body, status=said.status, headers=said.headers)
        finally:
            self._now -= 1


@asynccontextmanager
async def query_api(port: int | None = None) -> AsyncIterator[QueryApi]:
    """Serve one, on a port of its own if none is given."""
    api, app = QueryApi(), web.Application()
    app.router.add_route("*", "/prefix/api/v1/query", api.answer)
    server = TestServer(app, port=port)
    await server.start_server()
    api.url = str(server.make_url("/prefix"))
    try:
        yield api
    finally:
        await server.close()


@asynccontextmanager
async def asking(
    url: str,
    queries: Iterable[ValueQuery],
    sampling: Sampling = FAST,
    security: Security | None = None,
    **options: Any,
) -> AsyncIterator[Following[PrometheusValues]]:
    """An observer of values that runs."""
    meter = Meter()
    told = Options(url, security or Security(), **options)
    async with following(PrometheusValues("prometheus", told, sampling, meter), meter, queries) as watcher:
        yield watcher

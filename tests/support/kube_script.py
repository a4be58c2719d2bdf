"""An API server that answers by a script: for answers that the real one cannot be made to give."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web
from aiohttp.test_utils import TestServer

from k8s_source.client.api import Api
from k8s_source.client.connect import Connection
from tests.support.kube_client import Object
from tests.support.kube_watch import config_map, connected


def one(name: str, version: int, uid: str = "", **data: str) -> Object:
    """A ConfigMap as the API server has it."""
    made = config_map("shop", name, None, **data)
    made["metadata"] |= {"resourceVersion": str(version), "uid": uid or f"uid-{name}"}
    return made


def listed(version: int, *items: Object, onward: str = "") -> web.Response:
    """A page of a list, whose items leave out what says the kind."""
    bare = [{key: value for key, value in item.items() if key not in {"kind", "apiVersion"}} for item in items]
    return web.json_response({"metadata": {"resourceVersion": str(version), "continue": onward}, "items": bare})


def event(kind: str, body: Object) -> bytes:
    """A line of a watch."""
    return msgspec.json.encode({"type": kind, "object": body}) + b"\n"


def bookmark(version: int) -> bytes:
    """A line that tells a version only."""
    return event("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": str(version)}})


class Script:
    """Gives its answers in turn, and to all requests after them a watch that stays open."""

    def __init__(self, *answers: web.Response | list[bytes] | bytes) -> None:
        """A response; a list of chunks of a watch that ends after them; or bytes for one that goes on after them."""
        self.answers = list(answers)
        self.asked: list[dict[str, str]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer."""
        self.asked.append(dict(request.query))
        given = self.answers.pop(0) if self.answers else b""
        if isinstance(given, web.Response):
            return given
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in given if isinstance(given, list) else [given]:
            await response.write(chunk)
            await asyncio.sleep(0.01)
        if not isinstance(given, list):
            await asyncio.sleep(60)
        return response

    @property
    def lists(self) -> list[dict[str, str]]:
        """The lists that were asked for."""
        return [each for each in self.asked if "watch" not in each or "sendInitialEvents" in each]


@asynccontextmanager
async def answering(script: Script, folder: Path) -> AsyncIterator[Api]:
    """A client of an API server that answers so."""
    application = web.Application()
    application.router.add_get("/{path:.*}", script.handle)
    async with TestServer(application) as server:
        config = folder / "kubeconfig"
        content = {
            "current-context": "tests",
            "contexts": [{"name": "tests", "context": {"cluster": "tests"}}],
            "clusters": [{"name": "tests", "cluster": {"server": f"http://127.0.0.1:{server.port}"}}],
        }
        config.write_bytes(msgspec.json.encode(content))
        async with connected(Connection(config)) as api:
            yield api

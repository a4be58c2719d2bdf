"""The server under test: a `tidegate serve` of our own, or any server that the environment names.

- `TIDEGATE_CONFORMANCE_TARGET`: its xDS address, `host:port`; unset: we start Tidegate.
- `TIDEGATE_CONFORMANCE_FILES`: the folder that it reads native documents from (`group=NAME/*.yaml`).
- `TIDEGATE_CONFORMANCE_ADMIN`: the URL of an admin API like Tidegate's; tests that ask it are skipped without.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import grpc.aio
import pytest

from tests.conformance.client import SLACK, WITHIN, Stream, connect
from tests.conformance.documents import World
from tests.conformance.wire import Variant, node_of
from xds_server.demo.control_plane import ControlPlane, Json
from xds_server.demo.polling import until

Ask = Callable[[str], Awaitable[tuple[int, str]]]
"""A path of the admin API → status and text."""

_numbers = itertools.count(1)


def _fresh(name: str) -> str:
    """A name that no other test has used, nor another process that tests the same server."""
    return f"{name}-{os.getpid()}-{next(_numbers)}"


class Server:
    """Where the server is, where its files lie, and its admin API. Each test has groups of its own."""

    def __init__(self, xds: str, files: Path, ask: Ask | None) -> None:
        self.xds = xds
        self.files = files
        self._ask = ask

    def world(self, name: str = "") -> World:
        """The files of a group that no other test uses."""
        return World(self.files, _fresh(name or "g"))

    @asynccontextmanager
    async def clients(self) -> AsyncIterator[Clients]:
        """Opens streams, and ends them at the end of the block."""
        async with AsyncExitStack() as stack:
            yield Clients(self.xds, stack)

    async def get(self, path: str) -> Json:
        """GET `path` of the admin API, decoded."""
        answer: Json = json.loads((await self.request(path))[1])
        return answer

    async def request(self, path: str) -> tuple[int, str]:
        """GET `path` of the admin API: status and text. Skips the test where there is none."""
        if self._ask is None:
            pytest.skip("set TIDEGATE_CONFORMANCE_ADMIN to try this")
        return await self._ask(path)

    async def errors(self, world: World) -> list[Json]:
        """What the sources say is wrong with the files of a group."""
        sources = (await self.get("/v1/sources"))["sources"]
        return [each for source in sources for each in source["errors"] if f"/{world.folder.name}/" in each["path"]]

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that have these labels."""
        return _sum((await self.request("/metrics"))[1], name, labels)

    async def group(self, world: World) -> Json:
        """What the admin API says of a group."""
        return await self.get(f"/v1/groups/{world.group}")

    async def served(self, world: World, *, after: int = 0, within: float = WITHIN) -> Json:
        """Wait until a version of the group later than `after` is served; the group."""

        async def newer() -> Json | None:
            answer = await self.group(world)
            return answer if answer.get("seq", 0) > after else None

        return await until(
            newer, within=within * SLACK, what=f"a version of {world.group} after {after}", interval=0.02
        )

    async def node(self, id: str) -> Json:  # noqa: A002 - the field's name
        """The newest stream of a node, {} when it has none."""
        answer = await self.get(f"/v1/nodes/{id}")
        return next((entry for entry in answer.get("nodes", []) if entry["connected"]), {})

    async def left_out(self, world: World) -> dict[str, str]:
        """Name → reason of what is left out of a group."""
        return {entry["name"]: entry["reason"] for entry in (await self.group(world))["left_out"]}


class Clients:
    """Opens streams, each on a connection of its own, and ends them with the test."""

    def __init__(self, target: str, stack: AsyncExitStack) -> None:
        self.target = target
        self._stack = stack

    async def channel(self, *options: tuple[str, int]) -> grpc.aio.Channel:
        """A connection of its own."""
        return await self._stack.enter_async_context(connect(self.target, options))

    async def stream(
        self,
        variant: Variant,
        world: World | None = None,
        id: str = "",  # noqa: A002 - the field's name
        **more: Any,
    ) -> Stream:
        """A stream of a node in the group of `world`, or in the default group; `more` goes to `Stream`."""
        node = node_of(id or _fresh("n"), group=world.group if world else "")
        return await self._stack.enter_async_context(Stream(await self.channel(), variant, node, **more))

    async def bare(self, variant: Variant, **more: Any) -> Stream:
        """A stream that sends no node by itself."""
        return await self._stack.enter_async_context(Stream(await self.channel(), variant, None, **more))


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Server]:
    """The server that the environment names, or a Tidegate that keeps its files below `folder`."""
    target = os.environ.get("TIDEGATE_CONFORMANCE_TARGET")
    if not target:
        async with restartable(folder) as ours:
            yield ours
        return
    files = Path(os.environ["TIDEGATE_CONFORMANCE_FILES"])
    admin = os.environ.get("TIDEGATE_CONFORMANCE_ADMIN")
    async with aiohttp.ClientSession(admin) as session:

        async def ask(path: str) -> tuple[int, str]:
            async with session.get(path) as response:
                return response.status, await response.text()

        yield Server(target, files, ask if admin else None)


class Restartable(Server):
    """A Tidegate of the test's own, to be killed and started again at the same addresses."""

    def __init__(self, plane: ControlPlane) -> None:
        super().__init__(plane.xds, plane.files, plane.request)
        self.plane = plane

    async def restart(self) -> None:
        """Kill it and start it again."""
        await self.plane.child.kill()
        await self.plane.start()


@asynccontextmanager
async def restartable(folder: Path, settings: Mapping[str, Any] | None = None) -> AsyncIterator[Restartable]:
    """Run a Tidegate for one test; `settings` are further sections of its configuration."""
    plane = ControlPlane(folder, settings=settings)
    try:
        await plane.start()
        yield Restartable(plane)
    finally:
        await plane.stop()


def _sum(text: str, name: str, labels: Mapping[str, str]) -> float:
    total = 0.0
    for line in text.splitlines():
        found = re.fullmatch(rf"{name}(?:\{{(.*)\}})? (\S+)", line)
        if found and all(f'{label}="{value}"' in (found[1] or "") for label, value in labels.items()):
            total += float(found[2])
    return total

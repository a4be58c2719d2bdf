"""A TCP balancer between clients and servers of a test: hands connections out in turn, cuts them, swallows packets."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from contextlib import suppress
from types import TracebackType
from typing import Self

_CHUNK = 256 * 1024


class Balancer:
    """Each new connection goes to the next of `targets` (`host:port`), which may be exchanged at any time."""

    def __init__(self, *targets: str) -> None:
        self.address = ""
        self.targets = list(targets)
        self.open: Counter[str] = Counter()
        self.swallowing = False
        """Whether bytes are taken and not handed on, as by a firewall that has forgotten the connection."""
        self._turn = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=4096)
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        await self.cut()

    async def cut(self) -> None:
        """End all connections at the same moment."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = self.targets[next(self._turn) % len(self.targets)]
        host, _, port = target.rpartition(":")
        self.open[target] += 1
        try:
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
            with suppress(ConnectionError):
                try:
                    await self._both(reader, far_writer, far_reader, writer)
                finally:
                    far_writer.transport.abort()
        except OSError:
            pass  # Nobody there: the client sees its connection end.
        finally:
            writer.transport.abort()
            self.open[target] -= 1

    async def _both(
        self,
        reader: asyncio.StreamReader,
        far_writer: asyncio.StreamWriter,
        far_reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Move bytes both ways until either side ends."""
        ways = [
            asyncio.ensure_future(self._pump(reader, far_writer)),
            asyncio.ensure_future(self._pump(far_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            if not self.swallowing:
                writer.write(data)
                await writer.drain()

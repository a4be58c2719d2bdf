"""A proxy before a real API server that breaks what tests ask for: it refuses, delays, cuts and freezes requests."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import aiohttp
import msgspec
from aiohttp import web

_HOP = {"host", "content-length", "transfer-encoding", "connection", "accept-encoding"}


@dataclass
class Asked:
    """A request that came: when (the loop's time), what, and with which token. `stop` cuts it, `gate` holds it."""

    at: float
    method: str
    path: str
    query: dict[str, str]
    token: str
    cut: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    is_open: bool = True

    def __post_init__(self) -> None:
        """Nothing is held at first."""
        self.gate.set()

    @property
    def is_watch(self) -> bool:
        """Whether it is a watch, one that lists first included."""
        return self.query.get("watch") == "true"

    @property
    def is_list(self) -> bool:
        """Whether it reads all objects: a list, by whatever page, or a watch that begins with them."""
        if self.is_watch:
            return "sendInitialEvents" in self.query
        return self.method == "GET" and "limit" in self.query


Answer = Callable[[Asked], web.StreamResponse | None]
"""What is answered in place of the API server; None lets the request through."""


class KubeProxy:
    """Stands before `target` with the API server's certificate, and passes on who asks by token only.

    All requests come later by `delay` seconds, and each by what `late` says of it.
    """

    def __init__(self, target: str, context: ssl.SSLContext, server: ssl.SSLContext) -> None:
        self._target, self._context, self._server = target, context, server
        self.asked: list[Asked] = []
        self.answers: list[Answer] = []
        self.delay = 0.0
        self.late: Callable[[Asked], float] = lambda _: 0.0
        self.port = 0
        self._runner = web.AppRunner(self._application(), shutdown_timeout=0.1)
        self._session: aiohttp.ClientSession | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen."""
        connector = aiohttp.TCPConnector(ssl=self._context, limit=0)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._server)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Cut everything and stop to listen."""
        self.cut()
        await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    def watches(self, plural: str = "") -> list[Asked]:
        """The watches that are open, of a resource or of all."""
        return [each for each in self.asked if each.is_open and each.is_watch and each.path.endswith(plural)]

    def lists(self, plural: str = "") -> list[Asked]:
        """The lists that were asked for."""
        return [each for each in self.asked if each.is_list and each.path.endswith(plural)]

    def cut(self, plural: str = "") -> None:
        """Cut all watches, as a network does that loses its state."""
        for each in self.watches(plural):
            each.cut.set()

    def freeze(self, plural: str = "") -> None:
        """Nothing comes through the watches that are open now; they stay open."""
        for each in self.watches(plural):
            each.gate.clear()

    @contextmanager
    def answering(self, answer: Answer) -> Iterator[None]:
        """Meanwhile, answer so."""
        self.answers.append(answer)
        try:
            yield
        finally:
            self.answers.remove(answer)

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=2**26)
        application.router.add_route("*", "/{path:.*}", self._handle)
        return application

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        loop = asyncio.get_running_loop()
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        asked = Asked(loop.time(), request.method, request.path, dict(request.query), token)
        self.asked.append(asked)
        try:
            if delay := self.delay + self.late(asked):
                await asyncio.sleep(delay)
            for answer in tuple(self.answers):
                if (given := answer(asked)) is not None:
                    return given
            return await self._pass_on(request, asked)
        finally:
            asked.is_open = False

    async def _pass_on(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        assert self._session is not None
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        url = self._target + request.raw_path
        body = await request.read()
        no_limit = aiohttp.ClientTimeout(total=None)
        async with self._session.request(request.method, url, data=body, headers=headers, timeout=no_limit) as found:
            kept = {name: value for name, value in found.headers.items() if name.lower() not in _HOP}
            response = web.StreamResponse(status=found.status, headers=kept)
            await response.prepare(request)
            pump = asyncio.create_task(_pump(found, response, asked))
            cut = asyncio.create_task(asked.cut.wait())
            await asyncio.wait((pump, cut), return_when=asyncio.FIRST_COMPLETED)
            is_cut = cut.done() and not pump.done()
            pump.cancel()
            cut.cancel()
            await asyncio.gather(pump, cut, return_exceptions=True)
            if is_cut and request.transport is not None:
                request.transport.abort()
        return response


async def _pump(found: aiohttp.ClientResponse, response: web.StreamResponse, asked: Asked) -> None:
    async for chunk in found.content.iter_any():
        await asked.gate.wait()
        await response.write(chunk)
    await asked.gate.wait()
    await response.write_eof()


def status(code: int, reason: str, message: str = "refused by the proxy") -> dict[str, object]:
    """A `metav1.Status`."""
    said = {"status": "Failure", "code": code, "reason": reason, "message": message}
    return {"kind": "Status", "apiVersion": "v1", **said}


def refusal(code: int, reason: str, message: str = "refused by the proxy") -> web.Response:
    """An answer that is a `metav1.Status`."""
    return web.json_response(status(code, reason, message), status=code)


def error_line(code: int, reason: str, message: str = "refused by the proxy") -> bytes:
    """An ERROR event of a watch, without the end of its line."""
    return msgspec.json.encode({"type": "ERROR", "object": status(code, reason, message)})


def error_event(code: int, reason: str, message: str = "refused by the proxy") -> web.Response:
    """A watch of one ERROR event, in a reply that is not chunked and does not end its line."""
    return web.Response(body=error_line(code, reason, message), content_type="application/json")


def each_once(answers: Sequence[web.StreamResponse], when: Callable[[Asked], bool]) -> Answer:
    """These answers to the first requests that are meant, one each; the rest goes through."""
    left = list(answers)

    def answer(asked: Asked) -> web.StreamResponse | None:
        return left.pop(0) if left and when(asked) else None

    return answer

"""Demo backends: small HTTP servers that answer with their name, so that one sees who was asked."""

from __future__ import annotations

import ssl
from types import TracebackType
from typing import Self

from aiohttp import web


class Backend:
    """An HTTP/1.1 server on a free port of this machine that answers every request with its name.

    `async with` starts and stops it. `tls` makes it an HTTPS server.
    """

    def __init__(self, name: str, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        """Prepare the backend, at address `host`; nothing listens yet."""
        self.name = name
        self.host = host
        self.port = 0
        self.served = 0
        self._tls = tls
        self._runner: web.ServerRunner | None = None

    async def __aenter__(self) -> Self:
        """Bind and serve."""
        # Envoy's idle connections are Envoy's to close: a server that closes one just when a request is
        # sent on it makes a failure that has nothing to do with the control plane.
        server = web.Server(self._answer, access_log=None, keepalive_timeout=3600)
        self._runner = web.ServerRunner(server, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port, ssl_context=self._tls)
        await site.start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving; open requests get a second."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, _request: web.BaseRequest) -> web.StreamResponse:
        self.served += 1
        return web.Response(text=self.name)

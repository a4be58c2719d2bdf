"""The HTTP server around the application: bind, tell the real address, stop soon."""

from __future__ import annotations

import ssl
from collections.abc import Sequence

from aiohttp import web

from xds_server.admin.app import create_app
from xds_server.admin.deps import AdminDeps
from xds_server.admin.malformed import Runner
from xds_server.admin.rights import Rights
from xds_server.credentials.tls import ServerTls
from xds_server.credentials.watched import Watched
from xds_server.settings import Address

STOP_WITHIN = 2.0
"""Seconds that requests under way are given when the server stops."""


class AdminServer:
    """Serves the admin API on one address. On loopback, and with `hosts`, it answers to known host names only."""

    def __init__(
        self,
        deps: AdminDeps,
        rights: Rights | None = None,
        tls: Watched[ServerTls] | None = None,
        hosts: Sequence[str] = (),
    ) -> None:
        """Prepare; nothing is bound before `start`."""
        self._deps = deps
        self._rights = rights
        self._tls = tls
        self._hosts = tuple(hosts)
        self._runner: web.AppRunner | None = None

    async def start(self, address: Address) -> str:
        """Bind and serve; `host:port` as it is bound, the port never 0.

        Raises:
            OSError: The address can't be bound.
        """
        any_host = not (address.is_loopback or self._hosts)
        app = create_app(self._deps, (address.host, *self._hosts), self._rights, any_host=any_host)
        self._runner = Runner(app, access_log=None, shutdown_timeout=STOP_WITHIN)
        await self._runner.setup()
        try:
            context = _context(self._tls) if self._tls else None
            await web.TCPSite(self._runner, address.host, address.port, ssl_context=context).start()
        except OSError as error:
            await self.stop()
            why = error.strerror or str(error)
            raise OSError(f"admin.address: can't listen on {address}: {why}") from error
        return self.address

    @property
    def address(self) -> str:
        """`host:port` as it is bound, the port never 0.

        Raises:
            RuntimeError: It is not bound.
        """
        if self._runner is None or not self._runner.addresses:
            raise RuntimeError("the admin server is not started")
        host, port = self._runner.addresses[0][:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def stop(self) -> None:
        """Stop listening, end event streams, give other requests 2 s, then end them."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None


def _context(tls: Watched[ServerTls]) -> ssl.SSLContext:
    """A context that has each handshake use the newest one. OpenSSL makes this call with and without a name."""

    def exchange(connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = tls.value.context

    context = tls.value.context
    context.sni_callback = exchange
    return context

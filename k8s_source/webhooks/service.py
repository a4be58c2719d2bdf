"""The webhook as a service: serves, keeps its certificate fresh, and has the API server trust it, until it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import structlog

from k8s_source.client.errors import ApiError
from k8s_source.webhooks.authority import Pair, expiry, issue
from k8s_source.webhooks.files import CertificateFiles
from k8s_source.webhooks.keeper import Keeper
from k8s_source.webhooks.server import WebhookServer
from k8s_source.webhooks.teller import Teller

INTERVAL = 10.0
"""Seconds between two looks at the certificate, and at what the API server was told."""

RETRY = 2.0
"""Seconds after a look that failed."""

_PLACEHOLDER = timedelta(days=1)
_log = structlog.get_logger(__name__)

Look = Callable[[], Awaitable[tuple[Pair, bytes]]]
"""Gives the pair to serve with, and what the API server is to trust: b"" where someone else tells it."""


def kept_in_secret(keeper: Keeper) -> Look:
    """The pair that replicas keep together."""

    async def look() -> tuple[Pair, bytes]:
        kept = await keeper.look()
        return kept.current, kept.bundle

    return look


def kept_in_files(files: CertificateFiles) -> Look:
    """The pair of files."""

    async def look() -> tuple[Pair, bytes]:
        return files.look()

    return look


class WebhookService:
    """One replica."""

    def __init__(self, server: WebhookServer, look: Look, teller: Teller | None, interval: float = INTERVAL) -> None:
        """Nothing is bound or asked before `start`."""
        self._server = server
        self._look = look
        self._teller = teller
        self._interval = interval
        self._served: Pair | None = None
        self._failure = ""

    @property
    def expires(self) -> float | None:
        """When the certificate that is served ends (POSIX time); None before there is one."""
        return None if self._served is None else expiry(self._served).timestamp()

    async def start(self, host: str, port: int) -> str:
        """Bind; `host:port` as it is bound.

        It is alive from here on, also while the API server is away; it is ready once it has its certificate.

        Raises:
            OSError: The address can't be bound.
        """
        self._server.use(issue((host,), datetime.now(UTC), _PLACEHOLDER).pair)
        return await self._server.start(host, port)

    async def run(self) -> None:
        """Look at certificate and API server again and again; to be cancelled."""
        while True:
            pause = self._interval if await self._refresh() else min(RETRY, self._interval)
            await asyncio.sleep(pause)

    async def stop(self) -> None:
        """End what was begun, then stop."""
        await self._server.stop()

    async def _refresh(self) -> bool:
        """Look once; whether all went well. What was good before stays in use."""
        try:
            pair, bundle = await self._look()
            if pair != self._served:
                self._server.use(pair)
                self._served = pair
                _log.info("webhook_certificate", expires=expiry(pair).isoformat())
            for changed in await self._teller.tell(bundle) if self._teller is not None and bundle else ():
                _log.info("webhook_told", object=changed)
        except (ApiError, OSError, ValueError) as error:
            self._fail(str(error))
            return False
        if self._failure:
            _log.info("webhook_recovered")
            self._failure = ""
        self._server.is_ready = True
        return True

    def _fail(self, error: str) -> None:
        """Tell what is wrong, once."""
        if error != self._failure:
            _log.warning("webhook_not_refreshed", error=error, serving=self._served is not None)
            self._failure = error

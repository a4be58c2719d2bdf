"""A steady load of plain HTTP requests that counts every answer and every failure."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Self

import aiohttp

MAX_SAMPLES = 10
"""How many failures a tally keeps word for word."""


class Tally:
    """What became of the requests to one target."""

    def __init__(self) -> None:
        """Start with nothing sent."""
        self.statuses: Counter[int] = Counter()
        self.errors: Counter[str] = Counter()
        self.answered_by: Counter[str] = Counter()
        self.samples: list[str] = []
        self.latest = ""
        """Who answered last."""

    @property
    def sent(self) -> int:
        """Requests that have ended, well or not."""
        return self.statuses.total() + self.errors.total()

    @property
    def failed(self) -> int:
        """Requests that ended with another status than 200, or without one."""
        return self.sent - self.statuses[HTTPStatus.OK]

    def answer(self, status: int, body: str) -> None:
        """Count an answer; the body of a 200 names the backend."""
        self.statuses[status] += 1
        if status == HTTPStatus.OK:
            self.answered_by[body] += 1
            self.latest = body
        else:
            self._sample(f"{status} {body[:200]}")

    def error(self, error: Exception) -> None:
        """Count a request that got no answer."""
        self.errors[type(error).__name__] += 1
        self._sample(f"{type(error).__name__}: {error}")

    def _sample(self, text: str) -> None:
        if len(self.samples) < MAX_SAMPLES:
            self.samples.append(f"{time.strftime('%H:%M:%S')} {text}")


class Load:
    """Sends `rate` requests a second to each target (name → URL) for as long as the `async with` lasts.

    Requests start on a fixed beat, whatever the answers take, from `workers` keep-alive connections per
    target; a worker that fell behind by more than a second skips ahead instead of sending a burst.
    `fresh` opens a connection for each request instead, and `tls` is what HTTPS servers are checked against.
    """

    def __init__(
        self,
        targets: Mapping[str, str],
        *,
        rate: float = 100.0,
        workers: int = 5,
        timeout: float = 10.0,
        fresh: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Prepare the load; nothing is sent yet. `timeout` is in seconds, for a whole request."""
        self.targets = dict(targets)
        self.tallies = {name: Tally() for name in targets}
        self.started = 0.0
        self._interval = workers / rate
        self._workers = workers
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._fresh = fresh
        self._tls = tls
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Start sending."""
        self.started = time.monotonic()
        connector = aiohttp.TCPConnector(limit=0, force_close=self._fresh, ssl=self._tls or True)
        self._session = aiohttp.ClientSession(connector=connector, timeout=self._timeout)
        self._tasks = [
            asyncio.create_task(self._work(self._session, name, index * self._interval / self._workers))
            for name in self.targets
            for index in range(self._workers)
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop sending; what is under way is still waited for and counted, except after an error."""
        self._stopping = True
        if error is not None:
            for task in self._tasks:
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    @property
    def sent(self) -> int:
        """Requests that have ended, over all targets."""
        return sum(tally.sent for tally in self.tallies.values())

    @property
    def failed(self) -> int:
        """Failed requests, over all targets."""
        return sum(tally.failed for tally in self.tallies.values())

    @property
    def rate(self) -> float:
        """Requests a second since the start, over all targets."""
        return self.sent / max(time.monotonic() - self.started, 1e-9)

    def failures(self) -> str:
        """The first failures of each target in words, empty when there are none."""
        return "\n".join(f"{name}: {text}" for name, tally in self.tallies.items() for text in tally.samples)

    async def _work(self, session: aiohttp.ClientSession, name: str, offset: float) -> None:
        due = time.monotonic() + offset
        while not self._stopping:
            now = time.monotonic()
            due = max(due, now - 1.0)
            await asyncio.sleep(max(0.0, due - now))
            due += self._interval
            await self._request(session, name)

    async def _request(self, session: aiohttp.ClientSession, name: str) -> None:
        tally = self.tallies[name]
        try:
            async with session.get(self.targets[name]) as response:
                body = await response.text()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            tally.error(error)
        else:
            tally.answer(response.status, body)

"""One call of the query API: bounded in time and size, and never sent on to another address."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp

from observers.prometheus.answer import Reply, read, short
from observers.prometheus.options import Login, Options
from observers.sampler import Answer, Failure, Nothing

MOST = 1 << 20
"""Bytes of an answer; one number needs a few hundred."""

PATIENCE = 300.0
"""Seconds that a `Retry-After` may ask for at most."""

_THEIRS = 0.85
"""The part of our time that the server is given, so that it is the server who ends a slow query, and says so."""


class Asked(NamedTuple):
    """What became of a call. `is_well`: the query API answered; `pause`: seconds that it asks to be left alone for."""

    answer: Answer
    is_well: bool
    pause: float = 0.0


class Api:
    """Keeps connections between calls, as many as are used at a time. Proxies of the environment are not used.

    Queries are POSTed, as they may be long. Where that is not allowed, they go by GET from then on: some servers that
    have this API, and proxies, know no other way (Prometheus' own client for Go does the same).
    """

    def __init__(self, options: Options) -> None:
        """Nothing is opened before the first call."""
        self._options = options
        self._url = f"{options.url.rstrip('/')}/api/v1/query"
        self._session: aiohttp.ClientSession | None = None
        self._method = "POST"

    async def close(self) -> None:
        """Close all connections; the next call opens new ones."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ask(self, query: str, login: Login, until: float) -> Asked:
        """Ask for the value of a query by `until` (of the loop's clock). Every fault is an answer, too."""
        try:
            async with asyncio.timeout_at(until):
                return await self._call(query, login, until)
        except TimeoutError:
            return Asked(Failure("timeout", "no answer in time"), is_well=False)
        except aiohttp.ClientError as error:
            return Asked(_fault(error), is_well=False)

    async def _call(self, query: str, login: Login, until: float) -> Asked:
        left = max(until - asyncio.get_running_loop().time(), 0.0)
        form = {"query": query, "timeout": f"{max(1, round(left * _THEIRS * 1000))}ms"}
        is_post = self._method == "POST"
        async with self._opened().request(
            self._method,
            self._url,
            data=form if is_post else None,
            params=None if is_post else form,
            headers=login.headers,
            ssl=login.context,
            allow_redirects=False,
        ) as response:
            if response.status in (405, 501) and is_post:
                self._method = "GET"
                return await self._call(query, login, until)
            if response.status // 100 == 3:  # noqa: PLR2004 - the class of HTTP's redirections
                return Asked(_redirected(response), is_well=False)
            body = await _body(response)
            if body is None:
                large = (
                    f"the answer is larger than {MOST >> 20} MiB: let the query aggregate, such as by sum() or max()"
                )
                return Asked(Nothing("too large", large, is_fault=True), is_well=True)
            answered = _moment(response.headers.get("Date")) or time.time()
            answer, is_well = read(Reply(response.status, body, answered), self._options.max_age)
            return Asked(answer, is_well, _pause(response.status, response.headers, answered))

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._options.concurrency),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "tidegate"},
            )
        return self._session


async def _body(response: aiohttp.ClientResponse) -> bytes | None:
    """The body; None when it is too large, and then the connection is given up."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MOST:
            response.close()
            return None
    return bytes(body)


def _redirected(response: aiohttp.ClientResponse) -> Failure:
    """Credentials go to the address that was configured, and to no other."""
    target = urlsplit(response.headers.get("Location", ""))
    # What stands behind a question mark may be a secret.
    where = f" to {short(target._replace(query='', fragment='').geturl())}" if target.geturl() else ""
    return Failure("redirected", f"HTTP status {response.status}{where}; redirects are not followed: set the url right")


def _pause(status: int, headers: Mapping[str, str], answered: float) -> float:
    """What `Retry-After` asks for (RFC 9110, section 10.2.3): seconds, or a date."""
    text = headers.get("Retry-After", "")
    if status not in (429, 503) or not text:
        return 0.0
    until = _moment(text)
    wanted = float(text) if re.fullmatch(r"[0-9]{1,9}", text) else (until or answered) - answered
    return min(max(wanted, 0.0), PATIENCE)


def _moment(text: str | None) -> float | None:
    with suppress(ValueError, TypeError, OverflowError):
        return parsedate_to_datetime(text or "").timestamp()
    return None


def _fault(error: aiohttp.ClientError) -> Failure:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return Failure("security", f"{error.host}:{error.port}: {short(str(error.certificate_error))}")
        case aiohttp.ClientConnectorSSLError():
            return Failure("security", f"{error.host}:{error.port}: {short(str(error.os_error))}")
        case aiohttp.ClientConnectorError():
            why = error.os_error.strerror or str(error.os_error)
            return Failure("unreachable", f"{error.host}:{error.port}: {short(why)}")
        case aiohttp.ClientConnectionError():
            return Failure("unreachable", f"the connection broke: {short(str(error)) or type(error).__name__}")
        case _:
            return Failure("error", f"{type(error).__name__}: {short(str(error))}")
